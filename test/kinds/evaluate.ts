/** What a create does to a body before it is stored, without a server: decode, defaults, preparation, validation. */
import { ApiError } from '#api/errors.js'
import type { KubeObject } from '#api/object.js'
import { parseWithTrace } from '#json/json.js'
import { kinds } from '#kinds/index.js'
import { beforeCreate } from '#registry/before-create.js'
import { decodeObject } from '#registry/decode.js'
import type { RequestContext, ResourceDefinition } from '#registry/resource-definition.js'
import { makeResourceTable } from '#registry/resource-table.js'

export const table = makeResourceTable(kinds)

export const definitionOf = (kind: string, group = ''): ResourceDefinition => {
  for (const row of table) if (row.gvk.kind === kind && row.gvk.group === group) return row
  throw new Error(`no kind ${kind}`)
}

const contextOf = (warnings: string[]): RequestContext => ({
  user: { name: 'test', groups: [] },
  verb: 'create',
  namespace: 'default',
  subresource: '',
  dryRun: false,
  now: 0,
  caller: new AbortController(),
  warn: (text: string) => warnings.push(text),
  userAgent: 'test',
  fieldManager: '',
  fieldValidation: '',
  stores: () => undefined,
})

interface Evaluated {
  object?: KubeObject
  /** `path: message` of each cause. */
  causes: string[]
  code: number
  message: string
  warnings: string[]
}

export const evaluate = (definition: ResourceDefinition, text: string): Evaluated => {
  const warnings: string[] = []
  const ctx = contextOf(warnings)
  try {
    const { value, trace } = parseWithTrace(text)
    const decoded = decodeObject(definition, value, trace).object
    const object = definition.convert?.toStorage(decoded) ?? decoded
    object.metadata.uid = 'u-1'
    if (definition.namespaced) object.metadata.namespace = 'default'
    beforeCreate(object, { definition, ctx })
    return { object, causes: [], code: 201, message: '', warnings }
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const causes = (error.status.details?.causes ?? []).map((c) => `${c.field}: ${c.message}`)
    return { causes, code: error.code, message: error.message, warnings }
  }
}
