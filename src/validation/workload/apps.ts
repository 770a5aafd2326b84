/** Deployments, ReplicaSets, StatefulSets, DaemonSets (kubernetes, apps/validation). */
import {
  child,
  type FieldError,
  forbidden,
  index,
  invalid,
  notSupported,
  required,
} from '#api/field-error.js'
import type { Fields, KubeObject } from '#api/object.js'
import { keepGivenEmpty } from '#json/given-empty.js'
import { semanticEqual } from '#json/object.js'
import type { JsonValue } from '#json/value.js'
import type { MetadataChecks } from '#registry/resource-definition.js'
import { validDnsLabel } from '../formats.js'
import { immutable } from '../immutable.js'
import { internalForm } from '../internal-form.js'
import { validLabelSelector } from '../label-selector.js'
import { sparedIfStored } from '../late-rules.js'
import { isNone, notMoreThanAll, validIntOrPercent } from '../number.js'
import { validClaimSpec } from '../pod/claim-spec.js'
import { availableWithinReady, notDecremented, notNegative, withinReplicas } from './counts.js'
import {
  isEmpty,
  isUsableSelector,
  runsForever,
  selectorErrors,
  templateLabelsErrors,
  validPodTemplate,
  validTemplateMeta,
} from './pod-template.js'

/** ReplicaSets, and Deployments, which make them. */
const replicatedTemplate = (spec: Fields): FieldError[] => {
  const path = 'spec.template'
  const { template, selector } = spec
  const at = child(path, 'spec')
  return [
    ...(selector && isEmpty(selector) ? [] : templateLabelsErrors(path, selector, template)),
    ...validPodTemplate(path, template),
    ...runsForever(at, template.spec, 'ReplicaSet'),
  ]
}

const usable = (selector: Fields | null | undefined, then: FieldError[]): FieldError[] =>
  isUsableSelector(selector) ? then : [invalid('spec.selector', selector, 'invalid label selector')]

const rollingDeployment = ({ maxUnavailable, maxSurge }: Fields): FieldError[] => {
  const path = 'spec.strategy.rollingUpdate'
  const unavailableAt = child(path, 'maxUnavailable')
  return [
    ...validIntOrPercent(unavailableAt, maxUnavailable),
    ...validIntOrPercent(child(path, 'maxSurge'), maxSurge),
    ...(isNone(maxUnavailable) && isNone(maxSurge)
      ? [invalid(unavailableAt, maxUnavailable, 'may not be 0 when `maxSurge` is 0')]
      : []),
    ...notMoreThanAll(unavailableAt, maxUnavailable),
  ]
}

const deploymentStrategy = (strategy: Fields): FieldError[] => {
  const path = 'spec.strategy'
  if (strategy.type === 'Recreate')
    return strategy.rollingUpdate === undefined
      ? []
      : [
          forbidden(
            child(path, 'rollingUpdate'),
            "may not be specified when strategy `type` is 'Recreate'",
          ),
        ]
  if (strategy.type === 'RollingUpdate') return rollingDeployment(strategy.rollingUpdate)
  const printed = internalForm('apps.v1.DeploymentStrategy', strategy)
  return [notSupported(path, printed, ['Recreate', 'RollingUpdate'])]
}

/** What older versions had as spec.rollbackTo. */
export const rollbackTo = 'deprecated.deployment.rollback.to'

const rollbackErrors = (annotations: Record<string, string> = {}): FieldError[] => {
  const revision = annotations[rollbackTo] ?? ''
  return revision.startsWith('-')
    ? [invalid('spec.rollback.version', BigInt(revision), 'must be greater than or equal to 0')]
    : []
}

export const validateDeployment = ({ metadata, spec }: KubeObject): FieldError[] => {
  const { progressDeadlineSeconds, minReadySeconds = 0 } = spec
  const deadlineAt = 'spec.progressDeadlineSeconds'
  return [
    ...notNegative('spec', spec, 'replicas'),
    ...selectorErrors(spec.selector, 'empty selector is invalid for deployment'),
    ...usable(spec.selector, replicatedTemplate(spec)),
    ...deploymentStrategy(spec.strategy),
    ...notNegative('spec', spec, 'minReadySeconds', 'revisionHistoryLimit'),
    ...rollbackErrors(metadata.annotations),
    ...notNegative('spec', spec, 'progressDeadlineSeconds'),
    ...(progressDeadlineSeconds <= minReadySeconds
      ? [invalid(deadlineAt, progressDeadlineSeconds, 'must be greater than minReadySeconds')]
      : []),
  ]
}

const selectorIsImmutable = (next: KubeObject, previous: KubeObject): FieldError[] =>
  immutable('spec.selector', next.spec.selector, previous.spec.selector)

export const validateDeploymentUpdate = (next: KubeObject, previous: KubeObject): FieldError[] => [
  ...sparedIfStored(validateDeployment(next), () => validateDeployment(previous)),
  ...selectorIsImmutable(next, previous),
]

export const validateDeploymentStatus = (next: KubeObject, previous: KubeObject): FieldError[] => {
  const { status } = next
  const all = ['updatedReplicas', 'readyReplicas', 'availableReplicas']
  return [
    ...notNegative(
      'status',
      status,
      'observedGeneration',
      'replicas',
      ...all,
      'unavailableReplicas',
      'terminatingReplicas',
      'collisionCount',
    ),
    ...withinReplicas(status, all),
    ...availableWithinReady(status),
    ...notDecremented(status, previous.status ?? {}),
  ]
}

export const validateReplicaSet = ({ spec }: KubeObject): FieldError[] => [
  ...notNegative('spec', spec, 'replicas', 'minReadySeconds'),
  ...selectorErrors(spec.selector, 'empty selector is invalid for deployment'),
  ...usable(spec.selector, replicatedTemplate(spec)),
]

export const validateReplicaSetUpdate = (next: KubeObject, previous: KubeObject): FieldError[] => [
  ...sparedIfStored(validateReplicaSet(next), () => validateReplicaSet(previous)),
  ...selectorIsImmutable(next, previous),
]

const daemonStrategy = (strategy: Fields): FieldError[] => {
  const path = 'spec.updateStrategy'
  if (strategy.type === 'OnDelete') return []
  if (strategy.type !== 'RollingUpdate')
    return [
      notSupported(path, internalForm('apps.v1.DaemonSetUpdateStrategy', strategy), [
        'RollingUpdate',
        'OnDelete',
      ]),
    ]
  const { maxUnavailable, maxSurge } = strategy.rollingUpdate
  const unavailableAt = child(path, 'rollingUpdate', 'maxUnavailable')
  const surgeAt = child(path, 'rollingUpdate', 'maxSurge')
  const none = [isNone(maxUnavailable), isNone(maxSurge)]
  return [
    ...validIntOrPercent(unavailableAt, maxUnavailable),
    ...validIntOrPercent(surgeAt, maxSurge),
    ...notMoreThanAll(unavailableAt, maxUnavailable),
    ...notMoreThanAll(surgeAt, maxSurge),
    ...(none[0] && none[1] ? [required(unavailableAt, 'cannot be 0 when maxSurge is 0')] : []),
    ...(none[0] || none[1]
      ? []
      : [invalid(surgeAt, maxSurge, 'may not be set when maxUnavailable is non-zero')]),
  ]
}

export const validateDaemonSet = ({ spec }: KubeObject): FieldError[] => {
  const { selector, template } = spec
  return [
    ...validLabelSelector('spec.selector', selector),
    ...(isUsableSelector(selector) && !(selector && isEmpty(selector))
      ? templateLabelsErrors('spec.template', selector, template)
      : []),
    ...(selector && isEmpty(selector)
      ? [invalid('spec.selector', selector, 'empty selector is invalid for daemonset')]
      : []),
    ...validPodTemplate('spec.template', template),
    ...runsForever('spec.template.spec', template.spec, 'DaemonSet'),
    ...notNegative('spec', spec, 'minReadySeconds'),
    ...daemonStrategy(spec.updateStrategy),
    ...notNegative('spec', spec, 'revisionHistoryLimit'),
  ]
}

export const validateDaemonSetUpdate = (next: KubeObject, previous: KubeObject): FieldError[] => [
  ...selectorIsImmutable(next, previous),
  ...sparedIfStored(validateDaemonSet(next), () => validateDaemonSet(previous)),
]

export const validateDaemonSetStatus = (
  { status }: KubeObject,
  previous: KubeObject,
): FieldError[] => [
  ...notNegative(
    'status',
    status,
    'currentNumberScheduled',
    'numberMisscheduled',
    'desiredNumberScheduled',
    'numberReady',
    'observedGeneration',
    'updatedNumberScheduled',
    'numberAvailable',
    'numberUnavailable',
    'collisionCount',
  ),
  ...notDecremented(status, previous.status ?? {}),
]

const statefulStrategy = (strategy: Fields): FieldError[] => {
  const path = 'spec.updateStrategy'
  const { type, rollingUpdate } = strategy
  if (type === 'OnDelete')
    return rollingUpdate === undefined
      ? []
      : [
          invalid(
            child(path, 'rollingUpdate'),
            internalForm('apps.v1.RollingUpdateStatefulSetStrategy', rollingUpdate),
            "only allowed for updateStrategy 'RollingUpdate'",
          ),
        ]
  if (type === 'RollingUpdate')
    return notNegative(child(path, 'rollingUpdate'), rollingUpdate ?? {}, 'partition')
  return [
    invalid(
      path,
      internalForm('apps.v1.StatefulSetUpdateStrategy', strategy),
      "must be 'RollingUpdate' or 'OnDelete'",
    ),
  ]
}

const retentions = ['Retain', 'Delete']

const claimTemplates = (claims: Fields[] | undefined): FieldError[] =>
  (claims ?? []).flatMap((claim, i) =>
    validClaimSpec(child(index('spec.volumeClaimTemplates', i), 'spec'), claim.spec ?? {}),
  )

const managements = ['OrderedReady', 'Parallel']

/** Its template with the volumes of its claims, and without the names that the controller gives each pod. */
const asPodsGetIt = ({ template, volumeClaimTemplates }: Fields): Fields => {
  const { hostname: _ofPod, subdomain: _ofService, ...podSpec } = template.spec
  const claims = new Map<string, Fields>()
  for (const { metadata } of (volumeClaimTemplates ?? []) as Fields[]) {
    const claimName: string = metadata?.name ?? ''
    claims.set(claimName, { name: claimName, persistentVolumeClaim: { claimName } })
  }
  if (claims.size > 0) {
    const own = ((podSpec.volumes ?? []) as Fields[]).filter(({ name }) => !claims.has(name ?? ''))
    podSpec.volumes = [...claims.values(), ...own]
  }
  keepGivenEmpty(podSpec, template.spec)
  return { ...template, spec: podSpec }
}

/** An update does not check again what cannot change. */
const statefulSetErrors = ({ spec }: KubeObject, { isNew }: { isNew: boolean }): FieldError[] => {
  const { podManagementPolicy, selector, template, volumeClaimTemplates, serviceName } = spec
  const policy = 'spec.persistentVolumeClaimRetentionPolicy'
  return [
    ...(managements.includes(podManagementPolicy)
      ? []
      : [
          invalid(
            'spec.podManagementPolicy',
            podManagementPolicy,
            "must be 'OrderedReady' or 'Parallel'",
          ),
        ]),
    ...statefulStrategy(spec.updateStrategy),
    ...['whenDeleted', 'whenScaled'].flatMap((field) => {
      const value = spec.persistentVolumeClaimRetentionPolicy?.[field]
      return value === undefined || retentions.includes(value)
        ? []
        : [notSupported(child(policy, field), value, retentions)]
    }),
    ...(isNew ? claimTemplates(volumeClaimTemplates) : []),
    ...notNegative('spec', spec, 'replicas', 'minReadySeconds'),
    ...notNegative('spec.ordinals', spec.ordinals ?? {}, 'start'),
    ...(isNew && serviceName ? validDnsLabel('spec.serviceName', serviceName) : []),
    ...selectorErrors(selector, 'empty selector is invalid for statefulset'),
    ...(isUsableSelector(selector)
      ? [
          ...(selector && isEmpty(selector)
            ? []
            : templateLabelsErrors('spec.template', selector, template)),
          ...validPodTemplate('spec.template', asPodsGetIt(spec)),
          // Upstream checks these twice.
          ...validTemplateMeta('spec.template', template),
        ]
      : [invalid('spec.selector', selector, '')]),
    ...runsForever('spec.template.spec', template.spec, 'StatefulSet'),
  ]
}

export const validateStatefulSet = (set: KubeObject): FieldError[] =>
  statefulSetErrors(set, { isNew: true })

const updatable = [
  'replicas',
  'ordinals',
  'template',
  'updateStrategy',
  'revisionHistoryLimit',
  'persistentVolumeClaimRetentionPolicy',
  'minReadySeconds',
]

const withoutUpdatable = (spec: Fields): JsonValue =>
  Object.fromEntries(Object.entries(spec).filter(([key]) => !updatable.includes(key)))

export const validateStatefulSetUpdate = (next: KubeObject, previous: KubeObject): FieldError[] => [
  ...sparedIfStored(statefulSetErrors(next, { isNew: false }), () =>
    statefulSetErrors(previous, { isNew: false }),
  ),
  ...(semanticEqual(withoutUpdatable(next.spec), withoutUpdatable(previous.spec))
    ? []
    : [
        forbidden(
          'spec',
          "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
        ),
      ]),
]

export const validateStatefulSetStatus = (
  next: KubeObject,
  previous: KubeObject,
  metadata: MetadataChecks,
): FieldError[] => {
  const { status } = next
  const parts = ['readyReplicas', 'currentReplicas', 'updatedReplicas', 'availableReplicas']
  return [
    ...notNegative('status', status, 'replicas', ...parts, 'observedGeneration', 'collisionCount'),
    ...withinReplicas(status, parts),
    ...availableWithinReady(status, 'status.readyReplicas'),
    ...metadata.change(),
    ...notDecremented(status, previous.status ?? {}),
  ]
}
