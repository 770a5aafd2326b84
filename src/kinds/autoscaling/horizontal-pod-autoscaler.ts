import {
  child,
  type FieldError,
  forbidden,
  index,
  invalid,
  notSupported,
  required,
} from '#api/field-error.js'
import type { KubeObject } from '#api/object.js'
import { parseQuantity } from '#api/quantity.js'
import { isGiven } from '#json/given-empty.js'
import { defineKind } from '#registry/resource-definition.js'
import { nonNegative } from '#validation/number.js'
import { ownStatus } from '../status.js'
import { withoutCarried } from './carried-annotations.js'
import { type Metric, metricErrors, referenceErrors } from './metrics.js'

interface Policy {
  type?: string
  value?: number
  periodSeconds?: number
}
interface ScalingRules {
  stabilizationWindowSeconds?: number
  selectPolicy?: string
  policies?: Policy[]
  tolerance?: string
}

const selectPolicies = ['Disabled', 'Max', 'Min']
const windowSecondsMax = 3_600
const periodSecondsMax = 1_800

const policyErrors = (policy: Policy, path: string): FieldError[] => {
  const { type = '', value = 0, periodSeconds = 0 } = policy
  return [
    ...(type === 'Pods' || type === 'Percent'
      ? []
      : [notSupported(child(path, 'type'), type, ['Percent', 'Pods'])]),
    ...(value > 0 ? [] : [invalid(child(path, 'value'), value, 'must be greater than zero')]),
    ...(periodSeconds > 0
      ? []
      : [invalid(child(path, 'periodSeconds'), periodSeconds, 'must be greater than zero')]),
    ...(periodSeconds > periodSecondsMax
      ? [
          invalid(
            child(path, 'periodSeconds'),
            periodSeconds,
            `must be less than or equal to ${periodSecondsMax}`,
          ),
        ]
      : []),
  ]
}

const rulesErrors = (rules: ScalingRules | undefined, path: string): FieldError[] => {
  if (!rules) return []
  const { stabilizationWindowSeconds: seconds, selectPolicy, policies = [], tolerance } = rules
  const window = child(path, 'stabilizationWindowSeconds')
  return [
    ...(seconds !== undefined && seconds < 0
      ? [invalid(window, seconds, 'must be greater than or equal to zero')]
      : []),
    ...(seconds !== undefined && seconds > windowSecondsMax
      ? [invalid(window, seconds, `must be less than or equal to ${windowSecondsMax}`)]
      : []),
    ...(selectPolicy !== undefined && !selectPolicies.includes(selectPolicy)
      ? [notSupported(child(path, 'selectPolicy'), selectPolicy, selectPolicies)]
      : []),
    ...(policies.length === 0
      ? [required(child(path, 'policies'), 'must specify at least one Policy')]
      : policies.flatMap((p, i) => policyErrors(p, index(child(path, 'policies'), i)))),
    ...(tolerance !== undefined && parseQuantity(tolerance).nano < 0n
      ? [invalid(child(path, 'tolerance'), tolerance, 'must be greater than or equal to 0')]
      : []),
  ]
}

const replicaErrors = ({ minReplicas, maxReplicas = 0 }: KubeObject['spec']): FieldError[] => [
  ...(minReplicas !== undefined && minReplicas < 1
    ? [invalid('spec.minReplicas', minReplicas, 'must be greater than or equal to 1')]
    : []),
  ...(maxReplicas === 0 ? [required('spec.maxReplicas', 'must be set and greater than 0')] : []),
  ...(maxReplicas < 0
    ? [invalid('spec.maxReplicas', maxReplicas, 'must be greater than or equal to 1')]
    : []),
  ...(minReplicas !== undefined && maxReplicas < minReplicas
    ? [invalid('spec.maxReplicas', maxReplicas, 'must be greater than or equal to `minReplicas`')]
    : []),
]

/** A scale target of the core group can only be a ReplicationController. */
const targetGroupErrors = ({ kind, apiVersion = '' }: Metric = {}): FieldError[] =>
  /^[^/]+\/|\/.*\//.test(apiVersion) || kind === 'ReplicationController'
    ? []
    : [invalid('spec.scaleTargetRef.apiVersion', apiVersion, 'apiVersion must specify API group')]

const validate = ({ spec = {} }: KubeObject): FieldError[] => {
  const metrics: Metric[] = spec.metrics ?? []
  const scalesToZero = metrics.some((m) => m.type === 'Object' || m.type === 'External')
  return [
    ...replicaErrors(spec),
    ...referenceErrors(spec.scaleTargetRef, 'spec.scaleTargetRef'),
    ...targetGroupErrors(spec.scaleTargetRef),
    ...metrics.flatMap((metric, i) => metricErrors(metric, index('spec.metrics', i))),
    ...(spec.minReplicas === 0 && !scalesToZero
      ? [
          forbidden(
            'spec.metrics',
            'must specify at least one Object or External metric to support scaling to zero replicas',
          ),
        ]
      : []),
    ...rulesErrors(spec.behavior?.scaleUp, 'spec.behavior.scaleUp'),
    ...rulesErrors(spec.behavior?.scaleDown, 'spec.behavior.scaleDown'),
  ]
}

/** An empty list of policies stays one, and is refused. */
const withPolicies = (rules: ScalingRules | undefined, policies: Policy[]): ScalingRules =>
  isGiven(rules, 'policies') ? { ...rules } : { ...rules, policies }

interface Behavior {
  scaleUp?: ScalingRules
  scaleDown?: ScalingRules
}
const withDefaultRules = ({ scaleUp, scaleDown }: Behavior): Behavior => ({
  scaleUp: {
    stabilizationWindowSeconds: 0,
    selectPolicy: 'Max',
    ...withPolicies(scaleUp, [
      { type: 'Pods', value: 4, periodSeconds: 15 },
      { type: 'Percent', value: 100, periodSeconds: 15 },
    ]),
  },
  scaleDown: {
    selectPolicy: 'Max',
    ...withPolicies(scaleDown, [{ type: 'Percent', value: 100, periodSeconds: 15 }]),
  },
})

/** What autoscaling/v1 carries in annotations is of no use here, and upstream's conversion drops it. */
const dropCarried = (metadata: KubeObject['metadata'] | undefined): void => {
  if (metadata?.annotations === undefined) return
  const kept = withoutCarried(metadata.annotations)
  if (Object.keys(kept).length > 0) metadata.annotations = kept
  else delete metadata.annotations
}

const validateHorizontalPodAutoscalerStatus = ({ status }: KubeObject): FieldError[] =>
  ['currentReplicas', 'desiredReplicas'].flatMap((field) =>
    nonNegative(child('status', field), status?.[field]),
  )

export default defineKind({
  group: 'autoscaling',
  version: 'v2',
  kind: 'HorizontalPodAutoscaler',
  strategy: {
    metadataRevalidation: 'change',
    generation: 'none',
    default: ({ metadata, spec }) => {
      dropCarried(metadata)
      if (!spec) return
      spec.minReplicas ??= 1
      if ((spec.metrics ?? []).length === 0)
        spec.metrics = [
          {
            type: 'Resource',
            resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } },
          },
        ]
      if (spec.behavior) spec.behavior = withDefaultRules(spec.behavior)
    },
    // What v1 carries in an annotation is checked as it is given. Upstream's storage fills it when it is read.
    canonicalize: (object) => {
      const { spec } = object
      if (spec?.behavior) object.spec = { ...spec, behavior: withDefaultRules(spec.behavior) }
    },
    ...ownStatus('io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerStatus'),
    validate,
    validateUpdate: validate,
    status: { validateUpdate: validateHorizontalPodAutoscalerStatus },
  },
  sample: {
    metadata: { name: 'sample' },
    spec: {
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'sample' },
      maxReplicas: 3,
    },
  },
})
