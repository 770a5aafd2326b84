/** What a write of a status leaves of metadata, as kube-apiserver v1.36.3 answered for each kind. */
import t from 'tap'
import { kinds } from '#kinds/index.js'
import { makeResourceTable } from '#registry/resource-table.js'
import { startApiInMemory } from './api-in-memory.js'

const changes = {
  deletionTimestamp: '2020-01-01T00:00:00Z',
  labels: { x: 'y' },
  annotations: { x: 'y' },
  finalizers: ['a.b/c'],
  ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'x', uid: 'u' }],
}
const fields = Object.keys(changes) as (keyof typeof changes)[]

/** Fields of a write that do not matter. A deletionTimestamp that does is refused; other fields are written. */
const kept: Record<string, readonly string[]> = {
  'apps/v1/deployments': ['labels'],
  'v1/pods': ['deletionTimestamp', 'ownerReferences'],
  'apiregistration.k8s.io/v1/apiservices': fields.slice(1),
}
for (const gvr of [
  'admissionregistration.k8s.io/v1/validatingadmissionpolicies',
  'flowcontrol.apiserver.k8s.io/v1/flowschemas',
  'flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations',
  'networking.k8s.io/v1/servicecidrs',
  'resource.k8s.io/v1/resourceclaims',
  'storage.k8s.io/v1/volumeattachments',
])
  kept[gvr] = fields
const all = [
  ...Object.keys(kept),
  'apps/v1/daemonsets',
  'apps/v1/replicasets',
  'apps/v1/statefulsets',
  'autoscaling/v2/horizontalpodautoscalers',
  'batch/v1/cronjobs',
  'batch/v1/jobs',
  'certificates.k8s.io/v1/certificatesigningrequests',
  'networking.k8s.io/v1/ingresses',
  'policy/v1/poddisruptionbudgets',
  'v1/nodes',
  'v1/persistentvolumeclaims',
  'v1/persistentvolumes',
  'v1/replicationcontrollers',
  'v1/resourcequotas',
  'v1/services',
]

t.test('a write of a status leaves of metadata what it does for upstream', async (t) => {
  const api = await startApiInMemory()
  t.teardown(api.close)
  const table = makeResourceTable(kinds)
  for (const gvr of all) {
    const [resource, version, group = ''] = gvr.split('/').reverse() as [string, string, string?]
    const { gvk, namespaced } = table.get({ group, version, resource })!
    const { sample } = kinds.find(
      (kind) => kind.kind === gvk.kind && (kind.group ?? '') === group && kind.version === version,
    )!
    const namespace = namespaced ? 'default' : undefined
    const { body: stored } = await api.create(gvr, structuredClone(sample), { namespace })
    for (const field of fields) {
      const { code, body } = await api.replace(
        gvr,
        stored.metadata.name,
        ({ metadata }) => Object.assign(metadata, { [field]: changes[field] }),
        { namespace, subresource: 'status', dryRun: true },
      )
      if (kept[gvr]?.includes(field)) t.same(body.metadata?.[field], stored.metadata[field], gvr)
      else if (field === 'deletionTimestamp')
        t.match([code, body.details?.causes?.[0]?.field], [422, 'metadata.deletionTimestamp'], gvr)
      else t.match(body.metadata?.[field], changes[field], `${gvr} ${field}`)
    }
  }
})
