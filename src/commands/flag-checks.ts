/** Checks of the values of flags. */
import { existsSync } from 'node:fs'

type Check = (value: string) => string | undefined

export const positive: Check = (value) => (Number(value) > 0 ? undefined : 'must be positive')

export const existingFile: Check = (value) =>
  existsSync(value) ? undefined : 'there is no such file'

/** A check made from a reader that throws. */
export const readBy =
  (read: (value: string) => unknown): Check =>
  (value) => {
    try {
      read(value)
      return undefined
    } catch (error) {
      return (error as Error).message
    }
  }

export const oneOf =
  (values: readonly string[]): Check =>
  (value) =>
    values.includes(value) ? undefined : `must be one of ${values.join(', ')}`
