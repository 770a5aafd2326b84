/** What values of flags may be. */
import { existsSync } from 'node:fs'

type Check = (value: string) => string | undefined

export const existingFile: Check = (value) =>
  existsSync(value) ? undefined : 'there is no such file'

export const oneOf =
  (values: readonly string[]): Check =>
  (value) =>
    values.includes(value) ? undefined : `must be one of ${values.join(', ')}`
