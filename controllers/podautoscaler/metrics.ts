/** Asks metrics.k8s.io for what an autoscaler goes by, and proposes a size for each of its metrics. */
import { parseTime } from '#api/clock.js'
import type { KubeObject } from '#api/object.js'
import { formatMilli, parseMilli } from '#client/amount.js'
import type { Client } from '#client/client.js'
import { isNotFound, messageOf } from '#client/errors.js'
import { formatSelector, matchesLabels } from '#client/label-selector.js'
import type { Pod } from '#client/pod.js'
import type { ResourceRef } from '#client/resources.js'
import type { HorizontalPodAutoscaler, MetricSpec, MetricTarget, Tolerances } from './autoscaler.js'
import { type Proposal, propose, type Sample } from './calculator.js'

interface PodMetrics extends KubeObject {
  timestamp: string
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

interface Problem {
  reason: string
  message: string
  /** What the condition says before the message. */
  prefix: string
}
export interface Measured {
  /** The largest size that a metric asks for; undefined when they are not to be relied on. */
  best: { replicas: number; name: string } | undefined
  problems: Problem[]
  /** For FailedComputeMetricsReplicas. */
  failure: string | undefined
  statuses: unknown[]
}
export interface Question {
  client: Client
  hpa: HorizontalPodAutoscaler
  /** As status.selector of the scale has it. */
  labelSelector: string
  /** Of the namespace. */
  pods: readonly Pod[]
  current: number
  tolerances: Tolerances
  now: number
}

const unable = 'the HPA was unable to compute the replica count: '

/** Go's form of a duration: `30s`, `1m0.5s`. */
const milliseconds = (text: string): number => {
  let total = 0
  for (const [, number, unit] of text.matchAll(/([\d.]+)(h|ms|m|s)/g))
    total += Number(number) * { h: 3_600_000, m: 60_000, s: 1_000, ms: 1 }[unit as 'h']
  return total
}

const fetchSamples = async (
  { client, hpa, labelSelector }: Question,
  resource: string,
  container: string | undefined,
): Promise<{ samples: Map<string, Sample>; names: Set<string> }> => {
  const namespace = hpa.metadata.namespace!
  let items: PodMetrics[]
  try {
    items = (await client.list<PodMetrics>(podMetrics, { namespace, labelSelector })).items
  } catch (error) {
    // The words of client-go for a group that nobody serves.
    const text = isNotFound(error)
      ? 'the server could not find the requested resource (get pods.metrics.k8s.io)'
      : messageOf(error)
    throw new Error(`unable to fetch metrics from resource metrics API: ${text}`)
  }
  if (items.length === 0) throw new Error('no metrics returned from resource metrics API')
  const samples = new Map<string, Sample>()
  for (const { metadata, timestamp, window, containers } of items) {
    const chosen =
      container === undefined ? containers : containers.filter((c) => c.name === container)
    // A container that has no figure makes the Pod one without figures.
    if (chosen.length === 0 || chosen.some((c) => c.usage[resource] === undefined)) continue
    samples.set(metadata.name!, {
      value: chosen.reduce((sum, c) => sum + parseMilli(c.usage[resource]!), 0n),
      atMs: parseTime(timestamp),
      windowMs: milliseconds(window),
    })
  }
  return { samples, names: new Set(items.map((i) => i.metadata.name!)) }
}

interface Source {
  type: 'Resource' | 'ContainerResource'
  name: string
  container?: string
  target: MetricTarget
}

const proposeFor = async (question: Question, source: Source): Promise<Proposal> => {
  const { name, container, target } = source
  const kind = target.averageUtilization === undefined ? 'usage' : 'utilization'
  try {
    const { samples } = await fetchSamples(question, name, container).catch((error) => {
      throw new Error(`unable to get metrics for resource ${name}: ${messageOf(error)}`)
    })
    const selected = question.pods.filter((pod) =>
      matchesText(question.labelSelector, pod.metadata.labels),
    )
    return propose({ ...question, pods: selected }, { resource: name, container, target, samples })
  } catch (error) {
    throw new Error(`failed to get ${name} ${kind}: ${messageOf(error)}`)
  }
}

/** `a=b,c in (d,e),!f`: what formatSelector writes. */
const matchesText = (selector: string, labels: Record<string, string> = {}): boolean =>
  selector.split(/,(?![^(]*\))/).every((term) => {
    const set = /^(\S+) (in|notin) \((.*)\)$/.exec(term)
    if (set !== null) {
      const isIn = set[3]!.split(',').includes(labels[set[1]!] ?? '')
      const has = Object.hasOwn(labels, set[1]!)
      return set[2] === 'in' ? has && isIn : !has || !isIn
    }
    if (term.startsWith('!')) return !Object.hasOwn(labels, term.slice(1))
    const [key = '', value] = term.split('=')
    return value === undefined
      ? Object.hasOwn(labels, key)
      : matchesLabels({ [key]: value }, labels)
  })

const sourceOf = ({ resource, containerResource }: MetricSpec): Source | undefined => {
  if (resource !== undefined) return { type: 'Resource', ...resource }
  if (containerResource !== undefined) return { type: 'ContainerResource', ...containerResource }
  return undefined
}

const statusOf = (source: Source, { averageMilli, utilization }: Proposal): unknown => {
  const { type, name, container } = source
  const averageValue = formatMilli(averageMilli, name === 'memory' ? 'binary' : 'decimal')
  const current = {
    ...(utilization === undefined ? {} : { averageUtilization: utilization }),
    averageValue,
  }
  return type === 'Resource'
    ? { type, resource: { name, current } }
    : { type, containerResource: { name, container, current } }
}

/** Metrics of the custom and external APIs, which nobody serves here. */
const unserved = (spec: MetricSpec, namespace: string): Problem & { whole: string } => {
  const problem = (message: string, context: string): Problem & { whole: string } => ({
    reason: `FailedGet${spec.type}Metric`,
    prefix: unable,
    message,
    whole: `${context}: ${message}`,
  })
  if (spec.type === 'External') {
    const { name, selector } = spec.external!.metric
    const given = selector === undefined ? 'nil' : formatSelector(selector)
    return problem(
      `unable to get external metric ${namespace}/${name}/${given}: unable to fetch metrics from external metrics API: the server could not find the requested resource (get ${name}.external.metrics.k8s.io)`,
      `failed to get ${name} external metric value: failed to get external metric ${name}`,
    )
  }
  const custom =
    'unable to fetch metrics from custom metrics API: no custom metrics API (custom.metrics.k8s.io) registered'
  if (spec.type === 'Pods')
    return problem(
      `unable to get metric ${spec.pods!.metric.name}: ${custom}`,
      'failed to get pods metric value',
    )
  const { metric, describedObject } = spec.object!
  return problem(
    `unable to get metric ${metric.name}: ${describedObject.kind} on ${namespace} ${describedObject.name}/${custom}`,
    'failed to get object metric value',
  )
}

export const measureAll = async (question: Question): Promise<Measured> => {
  const { hpa, labelSelector, current } = question
  const specs = hpa.spec.metrics ?? []
  const statuses: unknown[] = []
  const problems: (Problem & { whole: string })[] = []
  let best: Measured['best']
  if (labelSelector === '') {
    const message = 'selector is required'
    const problem = {
      reason: 'InvalidSelector',
      message,
      prefix: "the HPA target's scale is missing a selector: ",
    }
    return { best, problems: [problem], failure: message, statuses }
  }
  for (const spec of specs) {
    const source = sourceOf(spec)
    try {
      if (source === undefined) throw unserved(spec, hpa.metadata.namespace!)
      const proposal = await proposeFor(question, source)
      statuses.push(statusOf(source, proposal))
      if (best === undefined || proposal.replicas > best.replicas)
        best = { replicas: proposal.replicas, name: nameOf(source) }
    } catch (error) {
      // Upstream shows an empty entry for a metric without a value.
      statuses.push({ type: '' })
      if (source === undefined) problems.push(error as Problem & { whole: string })
      else {
        const message = messageOf(error)
        const which = source.container ? `${source.container} container` : `${source.name} resource`
        problems.push({
          reason: `FailedGet${source.type}Metric`,
          message,
          prefix: unable,
          whole: `failed to get ${which} metric value: ${message}`,
        })
      }
    }
  }
  const [first] = problems
  const failure =
    first === undefined
      ? undefined
      : `invalid metrics (${problems.length} invalid out of ${specs.length}), first error is: ${first.whole}`
  // With a metric missing nothing is made smaller.
  const isUnreliable = problems.length > 0 && (best?.replicas ?? 0) < current
  return { best: isUnreliable ? undefined : best, problems, failure, statuses }
}

const nameOf = ({ type, name, target }: Source): string => {
  if (target.averageUtilization === undefined) return `${name} resource`
  const which = type === 'ContainerResource' ? 'container resource' : 'resource'
  return `${name} ${which} utilization (percentage of request)`
}
