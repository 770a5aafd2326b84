/**
 * Taints and tolerations that objects get at their creation
 * (plugin/pkg/admission/{nodetaint,defaulttolerationseconds}).
 */

import type { KubeObject } from '#api/object.js'
import { copyWith } from '#json/copy-with.js'
import type { Toleration } from '#validation/toleration.js'
import { type AdmissionPlugin, isAbout, podWrites } from './plugin.js'

const notReady = 'node.kubernetes.io/not-ready'
const unreachable = 'node.kubernetes.io/unreachable'

/** How long a Pod stays if it does not say so itself. */
export interface StaySeconds {
  readonly notReady?: number | undefined
  readonly unreachable?: number | undefined
}

interface Taint {
  key: string
  effect: string
}
/** A new node takes no pods until it has said that it is ready. */
export const taintNodesByCondition: AdmissionPlugin = {
  name: 'TaintNodesByCondition',
  resources: ['nodes'],
  mutate: (attributes) => {
    const about = { group: '', resource: 'nodes', operations: ['CREATE'] as const }
    if (!isAbout(attributes, about)) return
    const node = attributes.object
    node.spec ??= {}
    const taints: Taint[] = node.spec.taints ?? []
    if (taints.some((taint) => taint.key === notReady && taint.effect === 'NoSchedule')) return
    node.spec.taints = [...taints, { key: notReady, effect: 'NoSchedule' }]
  },
}

const tolerates = (pod: KubeObject, key: string): boolean =>
  ((pod.spec.tolerations ?? []) as Toleration[]).some(
    (t) => (!t.key || t.key === key) && (!t.effect || t.effect === 'NoExecute'),
  )

/** A pod stays for a while, by default five minutes, on a node that is gone, unless it says otherwise. */
export const defaultTolerationSeconds = ({
  notReady: notReadySeconds = 300,
  unreachable: unreachableSeconds = 300,
}: StaySeconds = {}): AdmissionPlugin => ({
  name: 'DefaultTolerationSeconds',
  resources: ['pods'],
  mutate: (attributes) => {
    if (!isAbout(attributes, podWrites)) return
    const pod = attributes.object
    const missing = [notReady, unreachable].filter((key) => !tolerates(pod, key))
    if (missing.length === 0) return
    const added = missing.map((key) => ({
      key,
      operator: 'Exists',
      effect: 'NoExecute',
      tolerationSeconds: key === notReady ? notReadySeconds : unreachableSeconds,
    }))
    // The spec of an update may be shared with the stored object.
    pod.spec = copyWith(pod.spec, { tolerations: [...(pod.spec.tolerations ?? []), ...added] })
  },
})
