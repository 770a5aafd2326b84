/** What Pods and their containers use, from metrics.k8s.io. */
import { parseTime } from '#api/clock.js'
import type { NamespacedObject } from '#api/object.js'
import { parseMilli } from '#client/amount.js'
import type { Client } from '#client/client.js'
import type { ResourceRef } from '#client/resources.js'
import { durationMs } from '#go/duration.js'
import { zeroTime } from '#go/zero-time.js'
import { getOwn } from '#json/object.js'
import type { Sample } from './calculator.js'
import { clientMessage } from './metrics-error.js'

interface PodMetrics extends NamespacedObject {
  /** As Go writes a time that nobody gave: null. */
  timestamp: string | null
  window: string
  containers: { name: string; usage: Record<string, string> }[]
}
const podMetrics: ResourceRef = {
  group: 'metrics.k8s.io',
  version: 'v1beta1',
  resource: 'pods',
  kind: 'PodMetrics',
  namespaced: true,
}

interface ResourceQuestion {
  readonly client: Client
  readonly namespace: string
  readonly labelSelector: string
  readonly resource: string
  /** Of one container only. */
  readonly container?: string
}

/** By Pod name. Throws, in upstream's words, when there are none. */
export const fetchResourceSamples = async (
  question: ResourceQuestion,
): Promise<Map<string, Sample>> => {
  const { client, namespace, labelSelector, resource, container } = question
  const { items } = await client
    .list<PodMetrics>(podMetrics, { namespace, labelSelector })
    .catch((error) => {
      const text = clientMessage(error, 'pods.metrics.k8s.io')
      throw new Error(`unable to fetch metrics from resource metrics API: ${text}`)
    })
  if (items.length === 0) throw new Error('no metrics returned from resource metrics API')
  const samples = new Map<string, Sample>()
  for (const { metadata, timestamp, window, containers } of items) {
    const chosen =
      container === undefined ? containers : containers.filter((c) => c.name === container)
    // A container that has no figure makes the Pod one without figures.
    const used = chosen.map(({ usage }) => getOwn(usage, resource))
    if (used.length === 0 || !used.every((amount) => amount !== undefined)) continue
    samples.set(metadata.name, {
      value: used.reduce((sum, amount) => sum + parseMilli(amount), 0n),
      atMs: parseTime(timestamp ?? zeroTime),
      windowMs: durationMs(window),
    })
  }
  return samples
}
