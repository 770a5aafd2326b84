/**
 * `--config FILE`: the flags of a command as a YAML or JSON file, checked by ajv against a schema that is made of the flag
 * table itself. What stands on the command line wins. Both libraries are loaded only when a file is given.
 */
import { readFileSync } from 'node:fs'
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
  const [{ default: YAML }, { Ajv }] = await Promise.all([import('yaml'), import('ajv')])
  let value: unknown
  try {
    value = YAML.parse(readFileSync(path, 'utf8')) ?? {}
  } catch (error) {
    throw new UsageError(`${path}: ${(error as Error).message.split('\n')[0]}`)
  }
  const validate = new Ajv({ allErrors: true }).compile<Record<string, unknown>>(schemaOf(flags))
  if (!validate(value)) {
    const mistakes = (validate.errors ?? []).map(({ instancePath, message, params }) => {
      const extra = (params as { additionalProperty?: string }).additionalProperty
      return extra === undefined
        ? `${instancePath.slice(1) || 'the file'} ${message}`
        : `unknown flag: ${extra}`
    })
    throw new UsageError(`${path}: ${mistakes.join(', ')}`)
  }
  return Object.entries(value).flatMap(([name, given]) =>
    [given].flat().map((one) => `--${name}=${one}`),
  )
}
