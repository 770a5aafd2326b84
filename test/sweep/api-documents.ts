/** The resources and types of a server, out of its discovery and its OpenAPI document. */
import { namespace } from './sweep.js'
import { read, type Target } from './target.js'

export interface Schema {
  readonly $ref?: string
  readonly type?: string
  readonly format?: string
  readonly enum?: readonly string[]
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly additionalProperties?: Schema
}

export interface Resource {
  readonly apiVersion: string
  readonly kind: string
  /** group/Kind, or group/Kind/version of a version that is not the preferred one. */
  readonly name: string
  readonly collection: string
  readonly subresources: ReadonlySet<string>
  readonly schema: Schema
}

export interface Api {
  readonly resources: readonly Resource[]
  /** Without references; the name of the type is what the last one said. */
  resolve(schema: Schema): { readonly type: Schema; readonly typeName: string }
}

interface ListedResource {
  readonly name: string
  readonly kind: string
  readonly namespaced: boolean
  readonly verbs: readonly string[]
}

const definitionsPrefix = '#/definitions/'
export const schemaNamed = (name: string): Schema => ({ $ref: `${definitionsPrefix}${name}` })

export const readApi = async (target: Target): Promise<Api> => {
  const { definitions } = await read(target, '/openapi/v2')
  const typeNames = new Map<string, string>()
  for (const [name, definition] of Object.entries<Record<string, unknown>>(definitions))
    for (const { group, version, kind } of (definition['x-kubernetes-group-version-kind'] ??
      []) as Record<'group' | 'version' | 'kind', string>[])
      typeNames.set(`${group}/${version}/${kind}`, name)

  const { groups } = await read(target, '/apis')
  const served = [{ name: '', versions: [{ groupVersion: 'v1', version: 'v1' }] }, ...groups]
  const resources: Resource[] = []
  for (const { name: group, versions } of served)
    for (const { groupVersion, version } of versions) {
      const base = group === '' ? '/api/v1' : `/apis/${groupVersion}`
      const listed: ListedResource[] = (await read(target, base)).resources
      for (const { name, kind, namespaced, verbs } of listed) {
        const typeName = typeNames.get(`${group}/${version}/${kind}`)
        if (name.includes('/') || !verbs.includes('create') || !typeName) continue
        const isPreferred = version === versions[0].version
        const within = listed.filter((one) => one.name.startsWith(`${name}/`))
        resources.push({
          apiVersion: groupVersion,
          kind,
          name: `${group}/${kind}${isPreferred ? '' : `/${version}`}`,
          collection: `${base}/${namespaced ? `namespaces/${namespace}/` : ''}${name}`,
          subresources: new Set(within.map((one) => one.name.slice(name.length + 1))),
          schema: schemaNamed(typeName),
        })
      }
    }

  return {
    resources,
    resolve: (schema) => {
      let [type, typeName] = [schema, '']
      while (type.$ref !== undefined) {
        typeName = type.$ref.slice(definitionsPrefix.length)
        type = definitions[typeName]
      }
      return { type, typeName }
    },
  }
}
