/** The five kinds of metric: where each comes from, what size it asks for, and how it is told of. */
import { printLabelSelector } from '#api/label-selector.js'
import { formatMilli, parseMilli } from '#client/amount.js'
import type { Client } from '#client/client.js'
import { messageOf } from '#client/errors.js'
import type { Pod } from '#client/pod.js'
import type { MetricSpec, MetricTarget, Tolerances } from './autoscaler.js'
import { propose, proposeForShare, proposeForValue, type Starting } from './calculator.js'
import { fetchExternalValue, fetchObjectValue, fetchPodSamples } from './custom-metrics.js'
import { fetchResourceSamples } from './resource-metrics.js'

/** What a metric is measured against. */
export interface Round {
  readonly client: Client
  readonly namespace: string
  /** As status.selector of the scale has it. */
  readonly labelSelector: string
  /** Those that the selector chooses. */
  readonly pods: readonly Pod[]
  /** spec.replicas and status.replicas of the scale. */
  readonly current: number
  readonly shown: number
  readonly tolerances: Tolerances
  readonly starting: Starting
  readonly now: number
}

interface MetricProposal {
  readonly replicas: number
  /** As the events and the condition name it. */
  readonly name: string
  /** An entry of status.currentMetrics. */
  readonly status: unknown
}

interface MetricSource {
  /** Of the condition and the event when it cannot be had. */
  readonly reason: string
  /** Before the message, where the failure of all metrics is told. */
  readonly context: string
  /** Throws, in upstream's words. */
  propose(round: Round): Promise<MetricProposal>
}

const within = <T>(context: string, act: () => Promise<T>): Promise<T> =>
  act().catch((error: unknown) => {
    throw new Error(`${context}: ${messageOf(error)}`)
  })

const decimal = (milli: bigint): string => formatMilli(milli, 'decimal')

interface ResourceSpec {
  readonly name: string
  readonly container?: string
  readonly target: MetricTarget
}

const resourceSource = ({ name, container, target }: ResourceSpec): MetricSource => {
  const type = container === undefined ? 'Resource' : 'ContainerResource'
  const isUtilization = target.averageUtilization !== undefined
  const which = container === undefined ? 'resource' : 'container resource'
  return {
    reason: `FailedGet${type}Metric`,
    context: `failed to get ${container === undefined ? `${name} resource` : `${container} container`} metric value`,
    propose: (round) =>
      within(`failed to get ${name} ${isUtilization ? 'utilization' : 'usage'}`, async () => {
        const samples = await within(`unable to get metrics for resource ${name}`, () =>
          fetchResourceSamples({ ...round, resource: name, container }),
        )
        const proposal = propose(round, { resource: name, container, target, samples })
        const { replicas, averageMilli, utilization } = proposal
        const current = {
          ...(utilization === undefined ? {} : { averageUtilization: utilization }),
          averageValue: formatMilli(averageMilli, name === 'memory' ? 'binary' : 'decimal'),
        }
        return {
          replicas,
          name: isUtilization
            ? `${name} ${which} utilization (percentage of request)`
            : `${name} resource`,
          status:
            container === undefined
              ? { type, resource: { name, current } }
              : { type, containerResource: { name, container, current } },
        }
      }),
  }
}

const podsSource = ({ metric, target }: NonNullable<MetricSpec['pods']>): MetricSource => ({
  reason: 'FailedGetPodsMetric',
  context: 'failed to get pods metric value',
  propose: async (round) => {
    const samples = await within(`unable to get metric ${metric.name}`, () =>
      fetchPodSamples(round, metric, round.labelSelector),
    )
    const { averageValue = '0' } = target
    const proposal = propose(round, { resource: '', target: { type: '', averageValue }, samples })
    return {
      replicas: proposal.replicas,
      name: `pods metric ${metric.name}`,
      status: {
        type: 'Pods',
        pods: { metric, current: { averageValue: decimal(proposal.averageMilli) } },
      },
    }
  },
})

/** What a value that belongs to no single Pod asks for, by the kind of its target. */
const proposeFrom = (round: Round, usage: bigint, { value, averageValue = '0' }: MetricTarget) => {
  if (value !== undefined) {
    const replicas = proposeForValue(round, usage, parseMilli(value))
    return { replicas, current: { value: decimal(usage) } }
  }
  const { shown, tolerances } = round
  const share = proposeForShare(shown, usage, parseMilli(averageValue), tolerances)
  return { replicas: share.replicas, current: { averageValue: decimal(share.averageMilli) } }
}

const objectSource = (spec: NonNullable<MetricSpec['object']>): MetricSource => {
  const { metric, describedObject, target } = spec
  const { kind, name } = describedObject
  const isValue = target.value !== undefined
  const context = 'failed to get object metric value'
  return {
    reason: 'FailedGetObjectMetric',
    context: isValue ? context : `${context}: failed to get ${metric.name} object metric`,
    propose: async (round) => {
      let usage: bigint
      try {
        usage = await fetchObjectValue(round, metric, describedObject)
      } catch (error) {
        // Upstream's order of words.
        const at = `${kind} on ${round.namespace} ${name}/${messageOf(error)}`
        throw new Error(`unable to get metric ${metric.name}: ${at}`)
      }
      const { replicas, current } = proposeFrom(round, usage, target)
      return {
        replicas,
        // Of a share upstream speaks as of an external metric.
        name: isValue
          ? `${kind} metric ${metric.name}`
          : `external metric ${metric.name}(${printLabelSelector(metric.selector)})`,
        status: { type: 'Object', object: { metric, current, describedObject } },
      }
    },
  }
}

const externalSource = ({ metric, target }: NonNullable<MetricSpec['external']>): MetricSource => {
  const selector = printLabelSelector(metric.selector)
  const context = `failed to get ${metric.name} external metric value`
  // A share counts first here, a value with objects.
  const isShare = target.averageValue !== undefined
  return {
    reason: 'FailedGetExternalMetric',
    context: isShare
      ? `${context}: failed to get ${metric.name} external metric`
      : `${context}: failed to get external metric ${metric.name}`,
    propose: async (round) => {
      const which = `${round.namespace}/${metric.name}/${selector}`
      const usage = await within(`unable to get external metric ${which}`, () =>
        fetchExternalValue(round, metric),
      )
      const { value, ...share } = target
      const { replicas, current } = proposeFrom(round, usage, isShare ? share : target)
      return {
        replicas,
        name: `external metric ${metric.name}(${selector})`,
        status: { type: 'External', external: { metric, current } },
      }
    },
  }
}

export const sourceOf = (spec: MetricSpec): MetricSource => {
  const { resource, containerResource, pods, object, external } = spec
  if (pods !== undefined) return podsSource(pods)
  if (object !== undefined) return objectSource(object)
  if (external !== undefined) return externalSource(external)
  return resourceSource((resource ?? containerResource)!)
}
