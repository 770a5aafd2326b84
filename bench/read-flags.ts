/** The flags of a program that is run by hand: a long test, a measurement. */
import { parseArgs } from 'node:util'

interface Flag {
  readonly type: 'string' | 'boolean'
  readonly default?: string | boolean
  readonly oneOf?: readonly string[]
}

type Values<T> = {
  readonly [K in keyof T]: T[K] extends { type: 'boolean' }
    ? boolean
    : T[K] extends { default: string }
      ? string
      : string | undefined
}

/**
 * A flag whose default is a number takes numbers. `--help` prints the usage and ends the process with 0; what cannot be
 * read is told with the usage and ends it with 2.
 */
export const readFlags = <const T extends Readonly<Record<string, Flag>>>(
  usage: string,
  flags: T,
): Values<T> => {
  const refuse = (problem: string): never => {
    process.stderr.write(`${problem}\n\n${usage}`)
    return process.exit(2)
  }
  let values: Readonly<Record<string, unknown>>
  try {
    values = parseArgs({ options: { ...flags, help: { type: 'boolean' } } }).values
  } catch (error) {
    return refuse((error as Error).message)
  }
  if (values.help === true) {
    process.stdout.write(usage)
    process.exit(0)
  }
  for (const [name, { default: usual, oneOf }] of Object.entries<Flag>(flags)) {
    const value = String(values[name])
    if (/^\d+$/.test(String(usual)) && !/^\d+(\.\d+)?$/.test(value))
      refuse(`--${name} ${value}: a number is needed`)
    const isGiven = values[name] !== undefined
    if (isGiven && oneOf?.includes(value) === false)
      refuse(`--${name} ${value}: one of ${oneOf.join(', ')}`)
  }
  return values as Values<T>
}
