/** Pod Security Standards by the labels of the namespace (kubernetes, pod-security-admission). */
import { controllerRefOf } from '#api/controller-ref.js'
import { aggregateMessage, invalid as invalidObject } from '#api/errors.js'
import type { FieldError } from '#api/field-error.js'
import type { KubeObject } from '#api/object.js'
import { oncePerObject } from '#async/once.js'
import { whenKnown } from '#async/when-known.js'
import { addToList } from '#collections/add-to-list.js'
import { compareTexts } from '#go/compare-texts.js'
import { limits } from '#limits'
import type { AdmissionAttributes, AttributesOf, WriteAttributes } from '#registry/admission.js'
import {
  type AdmissionPlugin,
  findNamespace,
  isAbout,
  isPodCreate,
  listObjects,
  namespaces,
  refuse,
} from '../plugin.js'
import { subjectOf, type Violation, violations } from './checks.js'
import {
  allowsAll,
  defaultSettings,
  ignoredPolicy,
  isPrivileged,
  isSame,
  isStricter,
  type LevelVersion,
  labelErrors,
  labelPrefix,
  type Mode,
  minorOf,
  type PodSecuritySettings,
  type Policy,
  policyOf,
  printed,
  privileged,
} from './policy.js'

const print = (found: readonly Violation[]): string =>
  found.map(({ reason, detail }) => `${reason} (${detail})`).join(', ')

const judge = (pod: KubeObject, { level, version }: LevelVersion): Violation[] =>
  level === privileged
    ? []
    : violations(level, subjectOf(pod.metadata ?? {}, pod.spec ?? {}, minorOf(version)))

/** The violations of a mode of the policy; undefined if there are none. */
const violationOf = (pod: KubeObject, policy: Policy, mode: Mode): string | undefined => {
  const found = judge(pod, policy[mode])
  return found.length === 0 ? undefined : `PodSecurity "${printed(policy[mode])}": ${print(found)}`
}

const annotate = ({ ctx: { audit } }: AdmissionAttributes, key: string, value: string): void =>
  audit?.annotate(labelPrefix + key, value)

const warnOf = (attributes: AdmissionAttributes, pod: KubeObject, policy: Policy): void => {
  const violation = violationOf(pod, policy, 'warn')
  if (violation !== undefined) attributes.ctx.warn(`would violate ${violation}`)
}

/** Notes a violation without refusing it. */
const auditOf = (attributes: AdmissionAttributes, pod: KubeObject, policy: Policy): void => {
  if (attributes.ctx.audit === undefined) return
  const violation = violationOf(pod, policy, 'audit')
  if (violation !== undefined)
    annotate(attributes, 'audit-violations', `would violate ${violation}`)
}

interface Container {
  name: string
  image?: string
}

/**
 * Only changed images and new containers make an update of a Pod be checked again (upstream's isSignificantPodUpdate).
 */
const isSignificant = ({ object, oldObject }: AttributesOf<'UPDATE'>): boolean => {
  const differs = (field: 'containers' | 'initContainers'): boolean => {
    const [next, previous]: Container[][] = [object.spec[field] ?? [], oldObject.spec[field] ?? []]
    return (
      next!.length !== previous!.length || next!.some((c, i) => c.image !== previous![i]!.image)
    )
  }
  const debuggers = new Map(
    ((oldObject.spec.ephemeralContainers ?? []) as Container[]).map(({ name, image }) => [
      name,
      image,
    ]),
  )
  return (
    differs('containers') ||
    differs('initContainers') ||
    ((object.spec.ephemeralContainers ?? []) as Container[]).some(
      ({ name, image }) => debuggers.get(name) !== image,
    )
  )
}

const templateOf = ({ kind, template, spec }: KubeObject): KubeObject | undefined => {
  if (kind === 'PodTemplate') return template
  return kind === 'CronJob' ? spec?.jobTemplate?.spec?.template : spec?.template
}

/** One Pod of each controller first, since its replicas are alike. */
const oneOfEachOwnerFirst = (pods: readonly KubeObject[]): KubeObject[] => {
  const seen = new Set<string>()
  const isFirst = (pod: KubeObject): boolean => {
    const owner = controllerRefOf(pod)?.uid
    if (owner === undefined) return true
    const isNew = !seen.has(owner)
    seen.add(owner)
    return isNew
  }
  const [first, others]: [KubeObject[], KubeObject[]] = [[], []]
  for (const pod of pods) (isFirst(pod) ? first : others).push(pod)
  return [...first, ...others]
}

/** A stricter level warns about existing Pods that violate it. */
const warnAboutExisting = async (
  { ctx, namespace }: AdmissionAttributes,
  wanted: LevelVersion,
  { runtimeClasses }: PodSecuritySettings,
): Promise<void> => {
  const pods = await listObjects(ctx, { group: '', resource: 'pods' }, namespace)
  const judged = pods.filter(({ spec }) => !runtimeClasses.includes(spec?.runtimeClassName))
  const byReasons = new Map<string, string[]>()
  const checked = oneOfEachOwnerFirst(judged).slice(0, limits.podSecurityChecksMax)
  if (checked.length < judged.length)
    ctx.warn(
      `new PodSecurity enforce level only checked against the first ${checked.length} of ${judged.length} existing pods`,
    )
  for (const pod of checked) {
    const reasons = judge(pod, wanted)
      .map((v) => v.reason)
      .join(', ')
    if (reasons !== '') addToList(byReasons, reasons, pod.metadata.name ?? '')
  }
  if (byReasons.size === 0) return
  ctx.warn(
    `existing pods in namespace ${JSON.stringify(namespace)} violate the new PodSecurity enforce level "${printed(wanted)}"`,
  )
  const lines = [...byReasons].map(([reasons, names]) => {
    const [first, ...rest] = names.sort(compareTexts)
    const others = rest.length === 1 ? ' (and 1 other pod)' : ` (and ${rest.length} other pods)`
    return `${first}${rest.length === 0 ? '' : others}: ${reasons}`
  })
  for (const line of lines.sort()) ctx.warn(line)
}

const checkLabels = ({ object: next, oldObject: previous }: WriteAttributes): void => {
  const errors = labelErrors(next)
  const same = (errors: FieldError[], others: FieldError[]): boolean =>
    JSON.stringify(errors) === JSON.stringify(others)
  // Invalid labels may stay, so that others can still be changed.
  if (errors.length > 0 && (previous === undefined || !same(errors, labelErrors(previous))))
    throw invalidObject({ group: '', kind: 'Namespace' }, next.metadata.name ?? '', errors)
}

const admitNamespace = (
  attributes: WriteAttributes,
  settings: PodSecuritySettings,
): void | Promise<void> => {
  const { object: next, oldObject: previous, namespace, ctx } = attributes
  checkLabels(attributes)
  const policy = policyOf(next, settings.defaults)
  const wanted = policy.enforce
  if (previous !== undefined) {
    const before = policyOf(previous, settings.defaults).enforce
    if (isSame(wanted, before) || isPrivileged(wanted)) return
    if (wanted.version === before.version && !isStricter(wanted.level, before.level)) return
  }
  if (settings.namespaces.includes(namespace)) {
    const ignored = ignoredPolicy(next, policy, settings)
    if (ignored !== undefined) ctx.warn(ignored)
  } else if (previous !== undefined) return warnAboutExisting(attributes, wanted, settings)
}

const workloads: readonly (readonly [string, string])[] = [
  ['', 'replicationcontrollers'],
  ['', 'podtemplates'],
  ['apps', 'replicasets'],
  ['apps', 'deployments'],
  ['apps', 'statefulsets'],
  ['apps', 'daemonsets'],
  ['batch', 'jobs'],
  ['batch', 'cronjobs'],
]
const writes = ['CREATE', 'UPDATE'] as const
const namespaceWrites = { ...namespaces, operations: writes }
const isPodUpdate = (attributes: AdmissionAttributes): attributes is AttributesOf<'UPDATE'> =>
  ['', 'ephemeralcontainers', 'resize'].some((subresource) =>
    isAbout(attributes, { group: '', resource: 'pods', subresource, operations: ['UPDATE'] }),
  )
const isWorkloadWrite = (attributes: AdmissionAttributes): attributes is WriteAttributes =>
  workloads.some(([group, resource]) =>
    isAbout(attributes, { group, resource, operations: writes }),
  )

/** What applies in a namespace, and what is wrong with its labels. */
interface Wanted {
  readonly policy: Policy
  readonly problem: string | undefined
}

const wantedBy = (namespace: KubeObject, { defaults }: PodSecuritySettings): Wanted => {
  const errors = labelErrors(namespace)
  return {
    policy: policyOf(namespace, defaults),
    problem: errors.length === 0 ? undefined : aggregateMessage(errors),
  }
}

const auditProblem = (attributes: AdmissionAttributes, { problem }: Wanted): void => {
  if (problem !== undefined) annotate(attributes, 'error', `Failed to parse policy: ${problem}`)
}

const admitPod = (attributes: WriteAttributes, wanted: Wanted): void => {
  const { object: pod } = attributes
  const { policy } = wanted
  auditProblem(attributes, wanted)
  annotate(attributes, 'enforce-policy', printed(policy.enforce))
  auditOf(attributes, pod, policy)
  const violation = violationOf(pod, policy, 'enforce')
  if (violation !== undefined) throw refuse(attributes, `violates ${violation}`)
  warnOf(attributes, pod, policy)
}

const admitTemplate = (attributes: WriteAttributes, template: KubeObject, wanted: Wanted): void => {
  auditProblem(attributes, wanted)
  auditOf(attributes, template, wanted.policy)
  warnOf(attributes, template, wanted.policy)
}

/** Calls `judge` with what applies to a Pod, or to a Pod template, unless it is exempt. */
const unlessExempt = (
  attributes: WriteAttributes,
  { runtimeClasses }: PodSecuritySettings,
  { spec }: KubeObject,
  judge: () => void,
): void => {
  if (runtimeClasses.includes(spec?.runtimeClassName))
    annotate(attributes, 'exempt', 'runtimeClass')
  else judge()
}

export const podSecurity = (settings = defaultSettings): AdmissionPlugin => {
  /** By stored Namespace: every Pod asks for the same. */
  const wantedIn = oncePerObject((namespace: KubeObject) => wantedBy(namespace, settings))

  const isExempt = (attributes: AdmissionAttributes): boolean => {
    const { usernames, namespaces } = settings
    const reason = namespaces.includes(attributes.namespace)
      ? 'namespace'
      : usernames.includes(attributes.ctx.user.name) && 'user'
    if (reason) annotate(attributes, 'exempt', reason)
    return reason !== false
  }

  const validatePod = (attributes: WriteAttributes, wanted: Wanted): void => {
    // If everything is allowed, the version does not matter.
    if (wanted.problem === undefined && allowsAll(wanted.policy))
      annotate(attributes, 'enforce-policy', `${privileged}:latest`)
    else if (isPodCreate(attributes) || isSignificant(attributes))
      unlessExempt(attributes, settings, attributes.object, () => admitPod(attributes, wanted))
  }

  const validateTemplate = (attributes: WriteAttributes, wanted: Wanted): void => {
    const { warn, audit } = wanted.policy
    const template = templateOf(attributes.object)
    const saysNothing = wanted.problem === undefined && isPrivileged(warn) && isPrivileged(audit)
    if (template === undefined || saysNothing) return
    unlessExempt(attributes, settings, template, () => admitTemplate(attributes, template, wanted))
  }

  return {
    name: 'PodSecurity',
    resources: ['pods', 'namespaces', ...workloads.map(([, resource]) => resource)],
    validate: (attributes) => {
      if (isAbout(attributes, namespaceWrites)) return admitNamespace(attributes, settings)
      const isPod = isPodCreate(attributes) || isPodUpdate(attributes)
      if (!isPod && !isWorkloadWrite(attributes)) return
      if (isExempt(attributes)) return
      const validate = isPod ? validatePod : validateTemplate
      return whenKnown(findNamespace(attributes), (namespace) => {
        if (namespace !== undefined) validate(attributes, wantedIn(namespace))
      })
    },
  }
}
