/**
 * `--config FILE`: the flags of a command as a YAML or JSON file, checked by ajv against a schema that is made of the flag
 * table itself. What stands on the command line wins.
 */
import { loadFindMistakes, readYamlFile } from '#program/configuration-file.js'
import { type Flag, UsageError } from '#program/flags.js'

export const configFlag: Flag = {
  name: 'config',
  type: 'string',
  help: 'YAML or JSON file of flags by name; the command line wins',
}

const valueSchemas: Readonly<Record<Flag['type'], object>> = {
  string: { type: 'string' },
  strings: { type: 'array', items: { type: 'string' } },
  stringArray: { type: 'array', items: { type: 'string' } },
  boolean: { type: 'boolean' },
  integer: { type: 'integer' },
  float: { type: 'number' },
  duration: { type: 'string' },
}

const schemaOf = (flags: readonly Flag[]): object => ({
  type: 'object',
  additionalProperties: false,
  properties: Object.fromEntries(
    flags
      .filter(({ name }) => name !== configFlag.name && name !== 'help')
      .map(({ name, type }) => [name, valueSchemas[type]]),
  ),
})

/** The path of `--config`, or undefined. Throws a UsageError when it has no value. */
export const configPathOf = (args: readonly string[]): string | undefined => {
  const at = args.findIndex((arg) => arg === '--config' || arg.startsWith('--config='))
  if (at < 0) return undefined
  const value = args[at]!.includes('=') ? args[at]!.slice('--config='.length) : args[at + 1]
  if (!value) throw new UsageError('flag needs an argument: --config')
  return value
}

/** The file's flags as arguments. Throws a UsageError that names the file and what is wrong in it. */
export const readConfigFile = async (path: string, flags: readonly Flag[]): Promise<string[]> => {
  try {
    const value = await readYamlFile(path)
    const findMistakes = await loadFindMistakes()
    const mistakes = findMistakes(schemaOf(flags), value).map(({ at, message, unknown }) =>
      unknown === undefined
        ? `${at.slice(1) || 'the file'} ${message}`
        : `unknown flag: ${unknown}`,
    )
    if (mistakes.length > 0) throw new UsageError(mistakes.join(', '))
    return Object.entries(value as Record<string, unknown>).flatMap(([name, given]) =>
      [given].flat().map((one) => `--${name}=${one}`),
    )
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    throw new UsageError(`${path}: ${error.message}`)
  }
}
