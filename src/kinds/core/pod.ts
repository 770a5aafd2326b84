import type { KubeObject } from '#api/object.js'
import { defineKind } from '#registry/resource-definition.js'

const podIPs = (pod: KubeObject): string =>
  ((pod.status?.podIPs ?? []) as { ip?: string }[]).map((p) => p.ip ?? '').join(',')

export default defineKind({
  group: '',
  version: 'v1',
  kind: 'Pod',
  ownFieldLabels: true,
  selectableFields: {
    'spec.nodeName': (pod) => pod.spec?.nodeName ?? '',
    'spec.restartPolicy': (pod) => pod.spec?.restartPolicy ?? '',
    'spec.schedulerName': (pod) => pod.spec?.schedulerName ?? '',
    'spec.serviceAccountName': (pod) => pod.spec?.serviceAccountName ?? '',
    'spec.hostNetwork': (pod) => String(pod.spec?.hostNetwork ?? false),
    'status.phase': (pod) => pod.status?.phase ?? '',
    'status.podIP': (pod) => pod.status?.podIP ?? '',
    'status.podIPs': podIPs,
    'status.nominatedNodeName': (pod) => pod.status?.nominatedNodeName ?? '',
  },
  sample: {
    metadata: { name: 'sample' },
    spec: { containers: [{ name: 'main', image: 'example.com/main:1' }] },
  },
})
