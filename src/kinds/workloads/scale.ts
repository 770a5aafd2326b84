/** The scale subresource: the replicas of a workload in one form for every kind. */
import { invalid as invalidError } from '#api/errors.js'
import { invalid } from '#api/field-error.js'
import { formatLabelSelector } from '#api/label-selector.js'
import type { KubeObject } from '#api/object.js'
import type { KindDefinition } from '#registry/resource-definition.js'

const scaleOf =
  (selectorOf: (parent: KubeObject) => string) =>
  (parent: KubeObject): KubeObject => {
    const { name, namespace, uid, resourceVersion, creationTimestamp } = parent.metadata
    const selector = selectorOf(parent)
    return {
      kind: 'Scale',
      apiVersion: 'autoscaling/v1',
      metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
      spec: parent.spec.replicas ? { replicas: parent.spec.replicas } : {},
      status: {
        replicas: parent.status?.replicas ?? 0,
        ...(selector === '' ? {} : { selector }),
      },
    }
  }

const writeReplicas = (parent: KubeObject, next: KubeObject): KubeObject => {
  const replicas = next.spec?.replicas ?? 0
  if (replicas < 0)
    throw invalidError({ group: 'autoscaling', kind: 'Scale' }, next.metadata.name ?? '', [
      invalid('spec.replicas', replicas, 'must be greater than or equal to 0'),
    ])
  return { ...parent, spec: { ...parent.spec, replicas } }
}

/** `selectorOf` yields the text of the parent's selector. */
export const scale = (
  selectorOf: (parent: KubeObject) => string = (parent) =>
    formatLabelSelector(parent.spec.selector),
): NonNullable<KindDefinition['subresources']>[number] => ({
  name: 'scale',
  style: 'view',
  read: scaleOf(selectorOf),
  write: writeReplicas,
})
