/** Containers of every sort (kubernetes, core/validation: validateContainers and its kin). */

import { each } from '#api/each.js'
import {
  child,
  duplicate,
  type FieldError,
  forbidden,
  index,
  invalid,
  notFound,
  notSupported,
  required,
  shownAsJson,
  tooMany,
} from '#api/field-error.js'
import type { Fields } from '#api/object.js'
import { trimSpace } from '#go/trim-space.js'
import { isGiven } from '#json/given-empty.js'
import { validDnsLabel } from '../formats.js'
import { late } from '../late-rules.js'
import { portNameMessages, protocols, validPort } from '../network.js'
import { validEnv, validEnvFrom } from './environment.js'
import { type Volumes, validVolumeDevices, validVolumeMounts } from './mounts.js'
import { validLifecycleAndProbes, withoutLifecycleAndProbes } from './probes.js'
import { validContainerResources } from './resources.js'
import { validSecurityContext } from './security.js'

/** What containers are checked against in their pod. */
interface PodContext {
  readonly spec: Fields
  readonly volumes: Volumes
  readonly claims: ReadonlySet<string>
  readonly graceSeconds: number
  readonly hostUsers: boolean
}

const portErrors = (path: string, ports: Fields[]): FieldError[] => {
  const names = new Set<string>()
  return each(path, ports, (port, at) => {
    const { name = '', containerPort = 0, hostPort = 0, protocol = '' } = port
    const messages = name === '' ? [] : portNameMessages(name)
    const errors = messages.map((message) => invalid(child(at, 'name'), name, message))
    if (name !== '' && messages.length === 0) {
      if (names.has(name)) errors.push(duplicate(child(at, 'name'), name))
      names.add(name)
    }
    const portAt = child(at, 'containerPort')
    errors.push(
      ...(containerPort === 0 ? [required(portAt)] : validPort(portAt, containerPort)),
      ...(hostPort === 0 ? [] : validPort(child(at, 'hostPort'), hostPort)),
    )
    if (protocol === '') errors.push(required(child(at, 'protocol')))
    else if (!protocols.includes(protocol))
      errors.push(notSupported(child(at, 'protocol'), protocol, protocols))
    return errors
  })
}

const hostPortConflicts = (path: string, containers: readonly Fields[]): FieldError[] => {
  const taken = new Set<string>()
  return each(path, containers, (container, at) =>
    each(child(at, 'ports'), container.ports as Fields[] | undefined, (port, portPath) => {
      if (!port.hostPort) return []
      const key = `${port.protocol}/${port.hostIP ?? ''}/${port.hostPort}`
      if (taken.has(key)) return [duplicate(child(portPath, 'hostPort'), key)]
      taken.add(key)
      return []
    }),
  )
}

const pullPolicies = ['Always', 'IfNotPresent', 'Never']
const messagePolicies = ['File', 'FallbackToLogsOnError']
const resizeResources = ['cpu', 'memory']
const resizePolicies = ['NotRequired', 'RestartContainer']

const resizeErrors = (path: string, list: Fields[], pod: PodContext): FieldError[] => {
  const seen = new Set<string>()
  return each(path, list, ({ resourceName = '', restartPolicy = '' }, at) => {
    const errors: FieldError[] = []
    if (seen.has(resourceName)) errors.push(duplicate(at, resourceName))
    seen.add(resourceName)
    if (resourceName === '') errors.push(required(path))
    else if (!resizeResources.includes(resourceName))
      errors.push(notSupported(path, resourceName, resizeResources))
    if (restartPolicy === '') errors.push(required(path))
    else if (!resizePolicies.includes(restartPolicy))
      errors.push(notSupported(path, restartPolicy, resizePolicies))
    if (pod.spec.restartPolicy === 'Never' && restartPolicy !== 'NotRequired')
      errors.push(
        shownAsJson(
          invalid(path, restartPolicy, "must be 'NotRequired' when pod `restartPolicy` is 'Never'"),
        ),
      )
    return errors
  })
}

const commonErrors = (path: string, container: Fields, pod: PodContext): FieldError[] => {
  const at = (field: string) => child(path, field)
  const { name = '', image = '', terminationMessagePolicy, imagePullPolicy } = container
  return [
    ...(name === '' ? [required(at('name'))] : validDnsLabel(at('name'), name)),
    ...(image === '' ? [required(at('image'))] : []),
    ...(messagePolicies.includes(terminationMessagePolicy)
      ? []
      : [notSupported(at('terminationMessagePolicy'), terminationMessagePolicy, messagePolicies)]),
    ...(container.ports ? portErrors(at('ports'), container.ports) : []),
    ...(container.env ? validEnv(at('env'), container.env) : []),
    ...(container.envFrom ? validEnvFrom(at('envFrom'), container.envFrom) : []),
    ...(container.volumeMounts
      ? validVolumeMounts(at('volumeMounts'), container, pod.volumes)
      : []),
    ...(container.volumeDevices
      ? validVolumeDevices(at('volumeDevices'), container, pod.volumes)
      : []),
    ...(pullPolicies.includes(imagePullPolicy)
      ? []
      : [notSupported(at('imagePullPolicy'), imagePullPolicy, pullPolicies)]),
    ...validContainerResources(at('resources'), container.resources, pod.claims),
    ...(container.resizePolicy
      ? resizeErrors(at('resizePolicy'), container.resizePolicy, pod)
      : []),
    ...(container.securityContext
      ? validSecurityContext(at('securityContext'), container.securityContext, pod.hostUsers)
      : []),
  ]
}

const restartPolicies = ['Always', 'Never', 'OnFailure']

const ruleActions = ['Restart', 'RestartAllContainers']
const exitCodeOperators = ['In', 'NotIn']
const rulesMax = 20
const exitCodesMax = 255

const exitCodeErrors = (path: string, { operator = '', values }: Fields): FieldError[] => [
  ...(exitCodeOperators.includes(operator)
    ? []
    : [notSupported(child(path, 'operator'), operator, exitCodeOperators)]),
  ...(values?.length > exitCodesMax
    ? [tooMany(child(path, 'values'), values.length, exitCodesMax)]
    : []),
]

const restartErrors = (path: string, container: Fields): FieldError[] => {
  const { restartPolicy } = container
  const rules: Fields[] = container.restartPolicyRules ?? []
  if (restartPolicy === undefined && rules.length === 0) return []
  const at = child(path, 'restartPolicy')
  const rulesAt = child(path, 'restartPolicyRules')
  const errors: FieldError[] = []
  if (restartPolicy === undefined)
    errors.push(required(at, 'must specify restartPolicy when restart rules are used'))
  else if (!restartPolicies.includes(restartPolicy))
    errors.push(notSupported(at, restartPolicy, restartPolicies))
  if (rules.length > rulesMax) errors.push(tooMany(rulesAt, rules.length, rulesMax))
  const inRules = each(rulesAt, rules, ({ action = '', exitCodes }, ruleAt) => [
    ...(ruleActions.includes(action)
      ? []
      : [notSupported(child(ruleAt, 'action'), action, ruleActions)]),
    ...(exitCodes === undefined
      ? [required(child(ruleAt, 'exitCodes'), 'must be specified')]
      : exitCodeErrors(child(ruleAt, 'exitCodes'), exitCodes)),
  ])
  return [...errors, ...inRules]
}

/** The rules of an init container without a policy are not checked any further. */
const initRestartErrors = (path: string, container: Fields): FieldError[] =>
  restartErrors(path, container).slice(0, container.restartPolicy === undefined ? 1 : undefined)

/** A container that runs to its end cannot be restarted to change its resources. */
const initResizeErrors = (path: string, { resizePolicy }: Fields): FieldError[] =>
  each(
    child(path, 'resizePolicy'),
    resizePolicy as Fields[] | undefined,
    ({ restartPolicy }, at) =>
      restartPolicy === 'RestartContainer'
        ? late('resize of init containers', [
            invalid(
              child(at, 'restartPolicy'),
              restartPolicy,
              "must not be set to 'RestartContainer' for non-sidecar initContainers",
            ),
          ])
        : [],
  )

export const validContainers = (path: string, pod: PodContext): FieldError[] => {
  const containers: Fields[] = pod.spec.containers ?? []
  if (containers.length === 0) return [required(path)]
  const names = new Set<string>()
  return [
    ...each(path, containers, (container, at) => {
      const errors = commonErrors(at, container, pod)
      const name: string = container.name ?? ''
      if (names.has(name)) errors.push(duplicate(child(at, 'name'), name))
      names.add(name)
      return [
        ...errors,
        ...validLifecycleAndProbes(at, container, pod.graceSeconds),
        ...restartErrors(at, container),
      ]
    }),
    ...hostPortConflicts(path, containers),
  ]
}

export const namesOf = (containers: Fields[] | undefined): string[] =>
  (containers ?? []).map((container) => container.name ?? '')

export const validInitContainers = (path: string, pod: PodContext): FieldError[] => {
  const names = new Set(namesOf(pod.spec.containers))
  return each(path, pod.spec.initContainers as Fields[], (container, at) => {
    const name: string = container.name ?? ''
    const errors = [...commonErrors(at, container, pod), ...initRestartErrors(at, container)]
    if (names.has(name)) errors.push(duplicate(child(at, 'name'), name))
    else if (name !== '') names.add(name)
    return [
      ...errors,
      ...hostPortConflicts(path, [container]),
      ...(container.restartPolicy === 'Always'
        ? validLifecycleAndProbes(at, container, pod.graceSeconds)
        : [...withoutLifecycleAndProbes(at, container), ...initResizeErrors(at, container)]),
    ]
  })
}

const forbiddenInEphemeral = [
  'ports',
  'resources',
  'resizePolicy',
  'restartPolicy',
  'restartPolicyRules',
  'livenessProbe',
  'readinessProbe',
  'startupProbe',
  'lifecycle',
]
const notInEphemeral = 'cannot be set for an Ephemeral Container'

/** What is there counts though it is empty; `resources`, which is no pointer in Go, counts by what it was given. */
const isSet = (container: Fields, field: string): boolean => {
  if (field !== 'resources') return isGiven(container, field)
  return ['limits', 'requests', 'claims'].some((part) => isGiven(container.resources, part))
}

const ephemeralMountErrors = (path: string, mounts: Fields[] | undefined): FieldError[] =>
  each(path, mounts, (mount, at) =>
    ['subPath', 'subPathExpr']
      .filter((field) => mount[field])
      .map((field) => forbidden(child(at, field), notInEphemeral)),
  )

export const untrimmedImage = (path: string, { image = '' }: Fields): FieldError[] =>
  image === trimSpace(image)
    ? []
    : [invalid(child(path, 'image'), image, 'must not have leading or trailing whitespace')]

export const validEphemeralContainers = (path: string, pod: PodContext): FieldError[] => {
  const others = new Set([...namesOf(pod.spec.containers), ...namesOf(pod.spec.initContainers)])
  const names = new Set(others)
  return each(path, pod.spec.ephemeralContainers as Fields[], (container, at) => {
    const name: string = container.name ?? ''
    const target: string = container.targetContainerName ?? ''
    const errors = [...commonErrors(at, container, pod), ...untrimmedImage(at, container)]
    if (names.has(name)) errors.push(duplicate(child(at, 'name'), name))
    names.add(name)
    if (target !== '' && !others.has(target))
      errors.push(notFound(child(at, 'targetContainerName'), target))
    for (const field of forbiddenInEphemeral)
      if (isSet(container, field)) errors.push(forbidden(child(at, field), notInEphemeral))
    return [...errors, ...ephemeralMountErrors(child(at, 'volumeMounts'), container.volumeMounts)]
  })
}

/** With the network of its node, a container has the ports of its node. */
export const validHostNetwork = (path: string, spec: Fields, isPod: boolean): FieldError[] =>
  ((spec.containers ?? []) as Fields[]).flatMap((container, i) =>
    each(
      child(index(path, i), 'ports'),
      container.ports as Fields[] | undefined,
      ({ hostPort = 0, containerPort }, at) =>
        (isPod || hostPort !== 0) && hostPort !== containerPort
          ? [
              invalid(
                child(at, 'hostPort'),
                hostPort,
                'must match `containerPort` when `hostNetwork` is true',
              ),
            ]
          : [],
    ),
  )
