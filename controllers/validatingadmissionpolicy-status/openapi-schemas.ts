/** Schemas of kinds from the server's OpenAPI v3 documents, with what they refer to in its place. */

import { type GroupVersionKind, groupVersionPath } from '#api/group-version.js'
import type { CelSchema } from '#cel/schema-types.js'
import type { Client } from '#client/client.js'
import { isNotFound } from '#client/errors.js'
import { mapValues } from '#json/entries.js'

interface Schema extends CelSchema {
  readonly $ref?: string
  /** Of a property that has more to say than what it refers to. */
  readonly allOf?: readonly Schema[]
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: boolean | Schema
  readonly 'x-kubernetes-group-version-kind'?: readonly GroupVersionKind[]
}
type Schemas = Readonly<Record<string, Schema>>

const refPrefix = '#/components/schemas/'

const refOf = ({ $ref, allOf = [] }: Schema): string | undefined =>
  $ref ?? allOf.map(refOf).find((ref) => ref !== undefined)

/** A schema inside itself is an object of which nothing is known. */
const withoutRefs = (schemas: Schemas, schema: Schema, within: ReadonlySet<string>): CelSchema => {
  const ref = refOf(schema)
  if (ref !== undefined && within.has(ref)) return { type: 'object' }
  const inside = ref === undefined ? within : new Set([...within, ref])
  const found = ref === undefined ? schema : (schemas[ref.slice(refPrefix.length)] ?? {})
  const resolve = (one: Schema) => withoutRefs(schemas, one, inside)
  const { items, properties, additionalProperties: values } = found
  return {
    ...found,
    ...(items && { items: resolve(items) }),
    ...(properties && { properties: mapValues(properties, resolve) }),
    ...(typeof values === 'object' && { additionalProperties: resolve(values) }),
  }
}

/** Asks for each document once: for one look at what the server serves now. */
export class OpenApiSchemas {
  readonly #client: Client
  readonly #documents = new Map<string, Promise<Schemas>>()

  constructor(client: Client) {
    this.#client = client
  }

  /** Undefined for kinds that the server does not have. */
  async schemaOf({ group, version, kind }: GroupVersionKind): Promise<CelSchema | undefined> {
    const path = `/openapi/v3${groupVersionPath({ group, version })}`
    let document = this.#documents.get(path)
    if (document === undefined) {
      document = this.#read(path)
      this.#documents.set(path, document)
    }
    const schemas = await document
    const name = Object.keys(schemas).find((key) =>
      schemas[key]!['x-kubernetes-group-version-kind']?.some(
        (gvk) => gvk.group === group && gvk.version === version && gvk.kind === kind,
      ),
    )
    if (name === undefined) return undefined
    return withoutRefs(schemas, schemas[name]!, new Set([refPrefix + name]))
  }

  async #read(path: string): Promise<Schemas> {
    try {
      const { components } = await this.#client.request<{ components?: { schemas?: Schemas } }>({
        method: 'GET',
        path,
      })
      return components?.schemas ?? {}
    } catch (error) {
      if (isNotFound(error)) return {}
      throw error
    }
  }
}
