/**
 * Fields that a write to a resource or subresource puts back to what is stored, so that their writers never own them.
 * Source of the facts: GetResetFields of the strategies in kubernetes, pkg/registry.
 */
import type { ResourceDefinition } from '../resource-definition.js'
import { emptySet, type FieldSet, setOfPath, union } from './field-set.js'

const spec = setOfPath('f:spec')
const status = setOfPath('f:status')
const meta = (...names: string[]): FieldSet =>
  names.map((name) => setOfPath('f:metadata', `f:${name}`)).reduce(union, emptySet)

const metadataAndSpec = union(spec, setOfPath('f:metadata'))

/** What writes of the status put back, where that is not the spec alone: by group and resource. */
const byStatus: Readonly<Record<string, FieldSet>> = {
  '/pods': union(spec, meta('deletionTimestamp', 'ownerReferences')),
  'apps/deployments': union(spec, meta('labels')),
  'admissionregistration.k8s.io/validatingadmissionpolicies': metadataAndSpec,
  'apiregistration.k8s.io/apiservices': metadataAndSpec,
  'certificates.k8s.io/certificatesigningrequests': union(
    spec,
    setOfPath('f:status', 'f:conditions'),
  ),
  'flowcontrol.apiserver.k8s.io/flowschemas': metadataAndSpec,
  'flowcontrol.apiserver.k8s.io/prioritylevelconfigurations': metadataAndSpec,
  'networking.k8s.io/servicecidrs': metadataAndSpec,
  'resource.k8s.io/resourceclaims': metadataAndSpec,
  'storage.k8s.io/volumeattachments': metadataAndSpec,
}

/** What writes of other subresources put back: by group, resource and subresource. */
const bySubresource: Readonly<Record<string, FieldSet>> = {
  '/namespaces/finalize': status,
  'certificates.k8s.io/certificatesigningrequests/approval': union(
    spec,
    setOfPath('f:status', 'f:certificate'),
  ),
}

/** A request never changes after it was made, so nobody owns it. */
const byMain: Readonly<Record<string, FieldSet>> = {
  'certificates.k8s.io/certificatesigningrequests': union(spec, status),
}

/** For a custom resource with a status subresource. */
export const resetFieldsOfCustom = (subresource: string): FieldSet =>
  subresource === '' ? status : subresource === 'status' ? metadataAndSpec : emptySet

export const resetFieldsOf = (
  { gvr, hasStatus }: Pick<ResourceDefinition, 'gvr' | 'hasStatus'>,
  subresource: string,
): FieldSet => {
  const key = `${gvr.group}/${gvr.resource}`
  if (subresource === '') return byMain[key] ?? (hasStatus ? status : emptySet)
  if (subresource === 'status') return byStatus[key] ?? spec
  return bySubresource[`${key}/${subresource}`] ?? emptySet
}
