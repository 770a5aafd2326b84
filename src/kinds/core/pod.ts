import { formatTime } from '#api/clock.js'
import { isDns1123Label } from '#api/names.js'
import type { Fields, KubeObject } from '#api/object.js'
import { isTerminalPhase } from '#api/pod-phase.js'
import { podQos } from '#api/pod-qos.js'
import {
  type DeleteOptions,
  defineKind,
  type RequestContext,
} from '#registry/resource-definition.js'
import { validatePodCreate } from '#validation/pod/pod.js'
import { validatePodUpdate } from '#validation/pod/pod-update.js'
import { podSpecWarnings } from '#validation/pod/warnings.js'
import { applyAppArmorAnnotations } from '../pods/app-armor.js'
import { applyMatchLabelKeys } from '../pods/match-label-keys.js'
import { defaultPod, defaultPodLevelResources } from '../pods/pod-defaults.js'
import { dropDisabledOfPodSpec } from '../pods/pod-spec-defaults.js'
import { podStatus } from '../pods/pod-status.js'
import { ephemeralContainers, resize } from '../pods/pod-views.js'
import { keepStatus } from '../status.js'
import { createBinding } from './pod-binding.js'
import { createEviction } from './pod-eviction.js'

const podIPs = (pod: KubeObject): string =>
  ((pod.status?.podIPs ?? []) as { ip?: string }[]).map((p) => p.ip ?? '').join(',')

const gatedCondition = (now: number): Fields => ({
  type: 'PodScheduled',
  status: 'False',
  lastProbeTime: null,
  lastTransitionTime: formatTime(now),
  reason: 'SchedulingGated',
  message: 'Scheduling is blocked due to non-empty scheduling gates',
})

/** Upstream does so on each write. */
const correctGrace = (pod: KubeObject): void => {
  if (pod.spec.terminationGracePeriodSeconds < 0)
    pod.spec = { ...pod.spec, terminationGracePeriodSeconds: 1 }
}

const prepareForCreate = (pod: KubeObject, ctx: RequestContext): void => {
  correctGrace(pod)
  pod.status = {
    phase: 'Pending',
    ...(pod.spec.schedulingGates === undefined ? {} : { conditions: [gatedCondition(ctx.now)] }),
    // What is given stays, unlike anything else of a status (upstream's GetPodQOS).
    qosClass: pod.status?.qosClass || podQos(pod.spec),
  }
  defaultPodLevelResources(pod.spec)
  applyMatchLabelKeys(pod)
  applyAppArmorAnnotations(pod, ctx.warn)
}

const podWarnings = ({ metadata, spec }: KubeObject): string[] => {
  const messages = isDns1123Label(metadata.name ?? '')
  return [
    ...(messages.length === 0
      ? []
      : [
          `metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: [${messages.join(' ')}]`,
        ]),
    ...podSpecWarnings('spec', spec, 'metadata', metadata),
  ]
}

// A Pod that is not scheduled or has ended goes at once (kubernetes, core/pod/strategy.go CheckGracefulDelete).
const checkGracefulDelete = (pod: KubeObject, options: DeleteOptions): boolean => {
  const asked = options.gracePeriodSeconds ?? pod.spec.terminationGracePeriodSeconds ?? 0
  const isDone = !pod.spec.nodeName || isTerminalPhase(pod.status?.phase)
  options.gracePeriodSeconds = isDone ? 0 : asked < 0 ? 1 : asked
  return true
}

export default defineKind({
  group: '',
  version: 'v1',
  kind: 'Pod',
  ownFieldLabels: true,
  fieldAliases: { 'spec.host': 'spec.nodeName' },
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
  subresources: [
    ephemeralContainers,
    resize,
    { name: 'binding', style: 'create', create: createBinding },
    {
      name: 'eviction',
      style: 'create',
      create: createEviction,
      acceptedApiVersions: ['policy/v1beta1'],
    },
  ],
  strategy: {
    dropDisabled: ({ spec }) => dropDisabledOfPodSpec(spec),
    default: defaultPod,
    prepareForCreate,
    validate: validatePodCreate,
    validateUpdate: validatePodUpdate,
    warningsOnCreate: podWarnings,
    prepareForUpdate: (next, previous, ctx) => {
      keepStatus(next, previous, ctx)
      correctGrace(next)
    },
    checkGracefulDelete,
    status: podStatus,
  },
  sample: {
    metadata: { name: 'sample' },
    spec: { containers: [{ name: 'main', image: 'example.com/main:1' }] },
  },
})
