/** Schemas as one version of OpenAPI writes them. Those of built-in kinds are written once, when a document needs them. */
import { compareTexts } from '#go/compare-texts.js'
import { write } from '#json/json.js'
import type { JsonObject } from '#json/value.js'
import { schemas } from '#openapi/schemas.js'
import type { ResourceDefinition } from '#registry/resource-definition.js'
import { customSchemas, type Describe, type OpenApiVersion } from './custom-schemas.js'
import { isMetaKind, ofVersions } from './meta-kinds.js'
import type { WrittenMembers } from './part.js'
import { refsIn, toSwaggerSchema } from './schema-forms.js'

export interface WrittenSchema {
  readonly text: string
  /** Names of the schemas that it refers to. */
  readonly refs: readonly string[]
}

export class WrittenSchemas {
  readonly #version: OpenApiVersion
  readonly #describe: Describe
  readonly #builtIn = new Map<string, WrittenSchema>()

  constructor(version: OpenApiVersion, describe: Describe = (_name, schema) => schema) {
    this.#version = version
    this.#describe = describe
  }

  /** Those of a custom kind and of its list. */
  ofRow(row: ResourceDefinition): [name: string, schema: WrittenSchema][] {
    return customSchemas(row, this.#version, this.#describe).map(([name, schema]) => [
      name,
      this.#write(schema),
    ])
  }

  /** The schemas of these names and what they refer to, in their order. `metaVersions`: see metaKindVersions. */
  closure(
    names: Iterable<string>,
    custom: ReadonlyMap<string, WrittenSchema>,
    metaVersions: readonly string[],
  ): WrittenMembers {
    const reached = new Map<string, string>()
    const add = (name: string): void => {
      if (reached.has(name)) return
      const schema = custom.get(name) ?? this.#ofKind(name)
      if (schema === undefined) return
      const text = isMetaKind(name)
        ? this.#write(ofVersions(name, this.#described(name)!, metaVersions)).text
        : schema.text
      reached.set(name, text)
      schema.refs.forEach(add)
    }
    for (const name of names) add(name)
    return [...reached].sort(([a], [b]) => compareTexts(a, b))
  }

  #ofKind(name: string): WrittenSchema | undefined {
    const known = this.#builtIn.get(name)
    if (known !== undefined) return known
    const schema = this.#described(name)
    if (schema === undefined) return undefined
    const made = this.#write(schema)
    this.#builtIn.set(name, made)
    return made
  }

  #described(name: string): JsonObject | undefined {
    const schema = schemas()[name] as JsonObject | undefined
    return schema && this.#describe(name, schema)
  }

  #write(schema: JsonObject): WrittenSchema {
    const refs = new Set<string>()
    refsIn(schema, (name) => refs.add(name))
    const text = write(this.#version === 'v2' ? toSwaggerSchema(schema) : schema)
    return { text, refs: [...refs] }
  }
}
