/** Files of configuration, in YAML or JSON, and their forms. Both libraries are loaded only when a file is given. */
import { readFileSync } from 'node:fs'
import { UsageError } from './flags.js'

/** Throws a UsageError that does not name the file. An empty file is an empty object. */
export const readYamlFile = async (file: string): Promise<unknown> => {
  const { parse } = await import('yaml')
  try {
    return parse(readFileSync(file, 'utf8')) ?? {}
  } catch (error) {
    throw new UsageError((error as Error).message.split('\n', 1)[0]!)
  }
}

interface Mistake {
  /** A JSON pointer; the whole value is ''. */
  readonly at: string
  readonly message: string
  /** The name of a field that the schema does not know. */
  readonly unknown: string | undefined
}

/** What is wrong with a value by a JSON schema. */
type FindMistakes = (schema: object, value: unknown) => Mistake[]

export const loadFindMistakes = async (): Promise<FindMistakes> => {
  const { Ajv } = await import('ajv')
  const ajv = new Ajv({ allErrors: true })
  return (schema, value) => {
    const validate = ajv.compile(schema)
    if (validate(value)) return []
    return (validate.errors ?? []).map(({ instancePath, message = '', params }) => ({
      at: instancePath,
      message,
      unknown: (params as { additionalProperty?: string }).additionalProperty,
    }))
  }
}
