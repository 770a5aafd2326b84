/** Flow schemas and priority levels that every server has, and whose specs nobody changes (kubernetes, flowcontrol/validation). */
import { type FieldError, invalid } from '#api/field-error.js'
import type { KubeObject } from '#api/object.js'
import { bootstrapObjects } from '#openapi/schemas.js'
import { sameJson } from '#validation/immutable.js'
import { internalForm } from '#validation/internal-form.js'

const mandatoryNames = ['catch-all', 'exempt']

/** Its fixed spec; undefined for one that is anybody's to change. */
const fixedSpec = (resource: string, name: string): KubeObject['spec'] | undefined => {
  if (!mandatoryNames.includes(name)) return undefined
  const made = bootstrapObjects()[`/apis/flowcontrol.apiserver.k8s.io/v1/${resource}`] ?? []
  return (made as unknown as KubeObject[]).find(({ metadata }) => metadata.name === name)?.spec
}

const refuse = (type: string, { metadata, spec }: KubeObject, what = ''): FieldError[] => [
  invalid(
    'spec',
    internalForm(type, spec),
    `spec of '${metadata.name}'${what} must equal the fixed value`,
  ),
]

export const mandatorySchemaErrors = (schema: KubeObject): FieldError[] => {
  const fixed = fixedSpec('flowschemas', schema.metadata.name ?? '')
  if (fixed === undefined || sameJson(schema.spec, fixed)) return []
  return refuse('flowcontrol.v1.FlowSchemaSpec', schema)
}

/** What is exempt may be given other shares. */
export const mandatoryLevelErrors = (level: KubeObject): FieldError[] => {
  const name = level.metadata.name ?? ''
  const fixed = fixedSpec('prioritylevelconfigurations', name)
  if (fixed === undefined) return []
  const isExempt = name === 'exempt'
  const wanted = isExempt ? { ...fixed, exempt: level.spec.exempt } : fixed
  if (sameJson(level.spec, wanted)) return []
  const what = isExempt ? " except the 'spec.exempt' field" : ''
  return refuse('flowcontrol.v1.PriorityLevelConfigurationSpec', level, what)
}
