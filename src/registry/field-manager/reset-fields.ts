/**
 * Fields that a write to a resource or subresource puts back to what is stored, so that their writers never own them.
 * Source of the facts: GetResetFields of the strategies in kubernetes, pkg/registry.
 */
import { emptySet, type FieldSet, setOfPath, union } from './field-set.js'

const spec = setOfPath('f:spec')
const status = setOfPath('f:status')
const meta = (...names: string[]): FieldSet =>
  names.map((name) => setOfPath('f:metadata', `f:${name}`)).reduce(union, emptySet)

const specAndLabels = union(spec, meta('labels'))

/** What writes of the status put back beside the spec, by group and resource. */
const byStatus: Readonly<Record<string, FieldSet>> = {
  '/pods': union(spec, meta('deletionTimestamp', 'ownerReferences')),
  'apps/deployments': specAndLabels,
  'apiextensions.k8s.io/customresourcedefinitions': union(
    spec,
    meta(
      'annotations',
      'deletionGracePeriodSeconds',
      'deletionTimestamp',
      'finalizers',
      'generateName',
      'labels',
      'ownerReferences',
      'selfLink',
    ),
  ),
  'apiregistration.k8s.io/apiservices': union(spec, meta('labels')),
}

const customStatus = union(
  spec,
  meta(
    'annotations',
    'creationTimestamp',
    'deletionGracePeriodSeconds',
    'deletionTimestamp',
    'finalizers',
    'generateName',
    'generation',
    'labels',
    'name',
    'namespace',
    'ownerReferences',
    'resourceVersion',
    'selfLink',
    'uid',
  ),
)

export const resetFieldsOf = (
  resource: { group: string; resource: string; hasStatus: boolean; isCustom: boolean },
  subresource: string,
): FieldSet => {
  const key = `${resource.group}/${resource.resource}`
  if (subresource === '') return resource.hasStatus ? status : emptySet
  if (subresource === 'status') return resource.isCustom ? customStatus : (byStatus[key] ?? spec)
  return emptySet
}
