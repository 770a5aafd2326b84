/**
 * The form of a KubeSchedulerConfiguration, as a JSON schema. What has no meaning here (HTTP, profiling, parallel work) may
 * stand in it, too. Source: kube-scheduler, config/v1.
 */
import { extensionPoints } from './plugin-sets.js'

const text = { type: 'string' }
const flag = { type: 'boolean' }
const integer = { type: 'integer' }
const listOf = (items: object): object => ({ type: 'array', items })
const fields = (properties: Readonly<Record<string, object>>): object => ({
  type: 'object',
  additionalProperties: false,
  properties,
})
const withFields = (names: readonly string[], schema: object): Record<string, object> =>
  Object.fromEntries(names.map((name) => [name, schema]))

const pluginSet = fields({
  enabled: listOf(fields({ name: text, weight: integer })),
  disabled: listOf(fields({ name: text, weight: integer })),
})

const profile = fields({
  schedulerName: text,
  percentageOfNodesToScore: integer,
  plugins: fields(withFields(extensionPoints, pluginSet)),
  pluginConfig: listOf(fields({ name: text, args: { type: 'object' } })),
})

const extender = fields({
  ...withFields(
    ['urlPrefix', 'filterVerb', 'preemptVerb', 'prioritizeVerb', 'bindVerb', 'httpTimeout'],
    text,
  ),
  ...withFields(['enableHTTPS', 'nodeCacheCapable', 'ignorable'], flag),
  weight: integer,
  tlsConfig: fields({
    insecure: flag,
    ...withFields(
      ['serverName', 'certFile', 'keyFile', 'caFile', 'certData', 'keyData', 'caData'],
      text,
    ),
  }),
  managedResources: listOf(fields({ name: text, ignoredByScheduler: flag })),
})

export const configurationSchema: object = fields({
  apiVersion: text,
  kind: text,
  clientConnection: fields({
    ...withFields(['kubeconfig', 'acceptContentTypes', 'contentType'], text),
    qps: { type: 'number' },
    burst: integer,
  }),
  leaderElection: fields({
    leaderElect: flag,
    ...withFields(
      [
        'leaseDuration',
        'renewDeadline',
        'retryPeriod',
        'resourceLock',
        'resourceName',
        'resourceNamespace',
      ],
      text,
    ),
  }),
  ...withFields(
    ['parallelism', 'percentageOfNodesToScore', 'podInitialBackoffSeconds', 'podMaxBackoffSeconds'],
    integer,
  ),
  ...withFields(['enableProfiling', 'enableContentionProfiling', 'delayCacheUntilActive'], flag),
  profiles: listOf(profile),
  extenders: listOf(extender),
})

const resources = listOf(fields({ name: text, weight: integer }))
const shape = listOf(fields({ utilization: integer, score: integer }))
const operators = ['In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt']
const requirement = fields({ key: text, operator: { enum: operators }, values: listOf(text) })
const nodeTerm = fields(withFields(['matchExpressions', 'matchFields'], listOf(requirement)))

/** Of `args` for each plugin that has any. */
const argumentFields: Readonly<Record<string, Record<string, object>>> = {
  DefaultPreemption: withFields(
    ['minCandidateNodesPercentage', 'minCandidateNodesAbsolute'],
    integer,
  ),
  DynamicResources: withFields(['bindingTimeout', 'filterTimeout'], text),
  InterPodAffinity: { hardPodAffinityWeight: integer, ignorePreferredTermsOfExistingPods: flag },
  NodeAffinity: {
    addedAffinity: fields({
      requiredDuringSchedulingIgnoredDuringExecution: {
        ...fields({ nodeSelectorTerms: listOf(nodeTerm) }),
        required: ['nodeSelectorTerms'],
      },
      preferredDuringSchedulingIgnoredDuringExecution: listOf({
        ...fields({ weight: integer, preference: nodeTerm }),
        required: ['weight', 'preference'],
      }),
    }),
  },
  NodeResourcesBalancedAllocation: { resources },
  NodeResourcesFit: {
    ...withFields(['ignoredResources', 'ignoredResourceGroups'], listOf(text)),
    scoringStrategy: fields({
      type: text,
      resources,
      requestedToCapacityRatio: fields({ shape }),
    }),
  },
  PodTopologySpread: {
    defaultingType: text,
    defaultConstraints: listOf(
      fields({
        maxSkew: integer,
        minDomains: integer,
        ...withFields(
          ['topologyKey', 'whenUnsatisfiable', 'nodeAffinityPolicy', 'nodeTaintsPolicy'],
          text,
        ),
        matchLabelKeys: listOf(text),
        labelSelector: { type: 'object' },
      }),
    ),
  },
  VolumeBinding: { bindTimeoutSeconds: integer, shape },
}

/** Undefined for a plugin without arguments. */
export const argumentsSchema = (plugin: string): object | undefined => {
  const own = Object.hasOwn(argumentFields, plugin) ? argumentFields[plugin] : undefined
  return (
    own &&
    fields({
      apiVersion: { const: 'kubescheduler.config.k8s.io/v1' },
      kind: { const: `${plugin}Args` },
      ...own,
    })
  )
}
