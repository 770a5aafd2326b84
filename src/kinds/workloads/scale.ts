/** The scale subresource: the replicas of a workload in one form for every kind. */
import { conflict, invalid as invalidError } from '#api/errors.js'
import { type FieldError, invalid } from '#api/field-error.js'
import { groupOf } from '#api/group-version.js'
import { formatLabelSelector } from '#api/label-selector.js'
import { dnsSubdomainName } from '#api/names.js'
import type { KubeObject } from '#api/object.js'
import type { JsonObject } from '#json/value.js'
import type { KindDefinition } from '#registry/resource-definition.js'
import { scaleTable } from '#registry/scale-table.js'
import { standardFinalizerErrors, validateMeta } from '#registry/validate-object-meta.js'

const scaleOf =
  (selectorOf: (parent: KubeObject) => string) =>
  (parent: KubeObject): KubeObject => {
    const { name, namespace, uid, resourceVersion, creationTimestamp } = parent.metadata
    // A parent that was sent without a version has none yet.
    const version = resourceVersion === undefined ? {} : { resourceVersion }
    const selector = selectorOf(parent)
    return {
      kind: 'Scale',
      apiVersion: 'autoscaling/v1',
      metadata: { name, namespace, uid, ...version, creationTimestamp },
      spec: parent.spec.replicas ? { replicas: parent.spec.replicas } : {},
      status: {
        replicas: parent.status?.replicas ?? 0,
        ...(selector === '' ? {} : { selector }),
      },
    }
  }

/** What upstream's internal form says of an empty object: a number stands where the API has a pointer. */
export const noReplicas = (object: JsonObject): void => {
  object.spec = { replicas: 0, ...(object.spec as JsonObject) }
}

const validate = ({ metadata, spec }: KubeObject): FieldError[] => [
  // By now the owners are those of the field manager, whatever was sent.
  ...validateMeta({ ...metadata, managedFields: undefined }, true, dnsSubdomainName),
  ...standardFinalizerErrors(metadata),
  ...(spec?.replicas < 0
    ? [invalid('spec.replicas', spec.replicas, 'must be greater than or equal to 0')]
    : []),
]

const writeReplicas = (parent: KubeObject, next: KubeObject): KubeObject => {
  const replicas = next.spec?.replicas ?? 0
  const errors = validate(next)
  if (errors.length > 0)
    throw invalidError({ group: 'autoscaling', kind: 'Scale' }, parent.metadata.name ?? '', errors)
  const { uid } = next.metadata
  if (uid && uid !== parent.metadata.uid)
    throw conflict(
      {
        group: groupOf(parent.apiVersion),
        resource: `${parent.kind.toLowerCase()}s/scale`,
      },
      parent.metadata.name ?? '',
      `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${parent.metadata.uid}`,
    )
  return { ...parent, spec: { ...parent.spec, replicas } }
}

/** `selectorOf` yields the text of the parent's selector. */
export const scale = (
  selectorOf: (parent: KubeObject) => string = (parent) =>
    formatLabelSelector(parent.spec.selector),
): NonNullable<KindDefinition['subresources']>[number] => ({
  name: 'scale',
  style: 'view',
  table: scaleTable(false),
  read: scaleOf(selectorOf),
  write: writeReplicas,
})
