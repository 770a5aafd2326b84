/** Pod Security Standards by the labels of the namespace (kubernetes, pod-security-admission). */
import { invalid as invalidObject } from '#api/errors.js'
import { type FieldError, invalid } from '#api/field-error.js'
import type { KubeObject } from '#api/object.js'
import { whenKnown } from '#api/when-known.js'
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
} from './plugin.js'
import { subjectOf, type Violation, violations } from './pod-security-checks.js'

const prefix = 'pod-security.kubernetes.io/'
const privileged = 'privileged'
const levels = [privileged, 'baseline', 'restricted']
const modes = ['enforce', 'audit', 'warn'] as const
type Mode = (typeof modes)[number]

interface Level {
  level: string
  version: string
}

/** Of namespaces as they are stored: every Pod asks for the same. */
const known = new WeakMap<KubeObject, Map<Mode, Level>>()

const levelOf = (namespace: KubeObject, mode: Mode): Level => {
  let levels = known.get(namespace)
  if (levels === undefined) known.set(namespace, (levels = new Map()))
  let level = levels.get(mode)
  if (level === undefined) levels.set(mode, (level = readLevel(namespace, mode)))
  return level
}

const readLevel = (namespace: KubeObject, mode: Mode): Level => {
  const { labels = {} } = namespace.metadata
  const level = labels[prefix + mode]
  const version = labels[`${prefix + mode}-version`]
  if (mode === 'warn' && level === undefined && levels.includes(labels[`${prefix}enforce`] ?? '')) {
    // Who enforces and says nothing of warnings is warned of what would be refused.
    const enforced = readLevel(namespace, 'enforce')
    return { level: enforced.level, version: version || enforced.version }
  }
  // What cannot be read fails closed where it is enforced, and open where it only tells.
  const unreadable = mode === 'enforce' ? 'restricted' : 'privileged'
  return {
    level: levels.includes(level ?? 'privileged') ? (level ?? 'privileged') : unreadable,
    version: version || 'latest',
  }
}

const minorOf = (version: string): number =>
  /^v1\.\d+$/.test(version) ? Number(version.slice('v1.'.length)) : Number.POSITIVE_INFINITY

const labelErrors = ({ metadata }: KubeObject): FieldError[] => {
  const path = (name: string): string => `metadata.labels[${prefix}${name}]`
  return modes.flatMap((mode) => {
    const level = metadata.labels?.[prefix + mode]
    const version = metadata.labels?.[`${prefix + mode}-version`]
    return [
      ...(level === undefined || levels.includes(level)
        ? []
        : [invalid(path(mode), level, `must be one of ${levels.join(', ')}`)]),
      ...(version === undefined || version === 'latest' || /^v1\.\d+$/.test(version)
        ? []
        : [invalid(path(`${mode}-version`), version, 'must be "latest" or "v1.x"')]),
    ]
  })
}

const print = (found: readonly Violation[]): string =>
  found.map(({ reason, detail }) => `${reason} (${detail})`).join(', ')

const judge = (pod: KubeObject, { level, version }: Level): Violation[] =>
  level === privileged
    ? []
    : violations(level, subjectOf(pod.metadata ?? {}, pod.spec ?? {}, minorOf(version)))

/** What of the pod the namespace's level does not allow, by name; undefined where it allows all. */
const violationOf = (pod: KubeObject, namespace: KubeObject, mode: Mode): string | undefined => {
  const wanted = levelOf(namespace, mode)
  const found = judge(pod, wanted)
  if (found.length === 0) return undefined
  return `PodSecurity "${wanted.level}:${wanted.version}": ${print(found)}`
}

const warnOf = (attributes: AdmissionAttributes, pod: KubeObject, namespace: KubeObject): void => {
  const violation = violationOf(pod, namespace, 'warn')
  if (violation !== undefined) attributes.ctx.warn(`would violate ${violation}`)
}

const allowsAll = (namespace: KubeObject): boolean =>
  modes.every((mode) => levelOf(namespace, mode).level === privileged)

/** Where everything is allowed no version is looked at. */
const auditEnforced = ({ ctx: { audit } }: AdmissionAttributes, namespace: KubeObject): void => {
  const { level, version } = levelOf(namespace, 'enforce')
  audit?.annotate(
    `${prefix}enforce-policy`,
    `${level}:${allowsAll(namespace) ? 'latest' : version}`,
  )
}

/** What would be refused is only written down. */
const auditOf = (
  { ctx: { audit } }: AdmissionAttributes,
  pod: KubeObject,
  namespace: KubeObject,
): void => {
  if (audit === undefined) return
  const violation = violationOf(pod, namespace, 'audit')
  if (violation !== undefined)
    audit.annotate(`${prefix}audit-violations`, `would violate ${violation}`)
}

const admitPod = (attributes: WriteAttributes): void | Promise<void> =>
  whenKnown(findNamespace(attributes), (namespace) => {
    if (namespace === undefined) return
    const pod = attributes.object
    auditEnforced(attributes, namespace)
    auditOf(attributes, pod, namespace)
    const violation = violationOf(pod, namespace, 'enforce')
    if (violation !== undefined) throw refuse(attributes, `violates ${violation}`)
    warnOf(attributes, pod, namespace)
  })

/** What changes nothing that counts is not judged; of a namespace that allows everything it is told all the same. */
const auditPrivileged = (attributes: WriteAttributes): void | Promise<void> => {
  if (attributes.ctx.audit === undefined) return
  return whenKnown(findNamespace(attributes), (namespace) => {
    if (namespace !== undefined && allowsAll(namespace)) auditEnforced(attributes, namespace)
  })
}

interface Container {
  name: string
  image?: string
}

/** Of what may be changed in a Pod only images and new containers have it judged again (upstream's isSignificantPodUpdate). */
const isSignificant = ({ object, oldObject }: AttributesOf<'UPDATE'>): boolean => {
  const differs = (field: 'containers' | 'initContainers'): boolean => {
    const [next, previous]: Container[][] = [object.spec[field] ?? [], oldObject.spec[field] ?? []]
    return (
      next!.length !== previous!.length || next!.some((c, i) => c.image !== previous![i]!.image)
    )
  }
  const debuggers: Container[] = oldObject.spec.ephemeralContainers ?? []
  return (
    differs('containers') ||
    differs('initContainers') ||
    ((object.spec.ephemeralContainers ?? []) as Container[]).some(
      ({ name, image }) => debuggers.find((d) => d.name === name)?.image !== image,
    )
  )
}

const templateOf = ({ kind, template, spec }: KubeObject): KubeObject | undefined => {
  if (kind === 'PodTemplate') return template
  return kind === 'CronJob' ? spec?.jobTemplate?.spec?.template : spec?.template
}

/** Replicas are alike: those after the first of a controller are looked at last. */
const oneOfEachOwnerFirst = (pods: readonly KubeObject[]): KubeObject[] => {
  const seen = new Set<string>()
  const isFirst = (pod: KubeObject): boolean => {
    const owner = pod.metadata.ownerReferences?.find((o) => o.controller)?.uid
    if (owner === undefined) return true
    const isNew = !seen.has(owner)
    seen.add(owner)
    return isNew
  }
  const [first, others]: [KubeObject[], KubeObject[]] = [[], []]
  for (const pod of pods) (isFirst(pod) ? first : others).push(pod)
  return [...first, ...others]
}

/** A stricter level is announced with what already runs against it. */
const warnAboutExisting = async (
  { ctx }: AdmissionAttributes,
  next: KubeObject,
  previous: KubeObject,
): Promise<void> => {
  const [wanted, before] = [levelOf(next, 'enforce'), levelOf(previous, 'enforce')]
  const isStricter = levels.indexOf(wanted.level) > levels.indexOf(before.level)
  if (!isStricter && wanted.version === before.version) return
  const name = next.metadata.name ?? ''
  const pods = await listObjects(ctx, { group: '', resource: 'pods' }, name)
  const byReasons = new Map<string, string[]>()
  for (const pod of oneOfEachOwnerFirst(pods).slice(0, limits.podSecurityChecksMax)) {
    const reasons = judge(pod, wanted)
      .map((v) => v.reason)
      .join(', ')
    if (reasons !== '')
      byReasons.set(reasons, [...(byReasons.get(reasons) ?? []), pod.metadata.name ?? ''])
  }
  if (byReasons.size === 0) return
  ctx.warn(
    `existing pods in namespace ${JSON.stringify(name)} violate the new PodSecurity enforce level "${wanted.level}:${wanted.version}"`,
  )
  const lines = [...byReasons].map(([reasons, [first, ...rest]]) => {
    const others = rest.length === 1 ? ' (and 1 other pod)' : ` (and ${rest.length} other pods)`
    return `${first}${rest.length === 0 ? '' : others}: ${reasons}`
  })
  for (const line of lines.sort()) ctx.warn(line)
}

const admitNamespace = async (attributes: WriteAttributes): Promise<void> => {
  const { object: next, oldObject: previous } = attributes
  const errors = labelErrors(next)
  const same = (errors: FieldError[], others: FieldError[]): boolean =>
    JSON.stringify(errors) === JSON.stringify(others)
  // What was wrong before may stay, so that the rest can still be changed.
  if (errors.length > 0 && (previous === undefined || !same(errors, labelErrors(previous))))
    throw invalidObject({ group: '', kind: 'Namespace' }, next.metadata.name ?? '', errors)
  if (previous !== undefined && errors.length === 0)
    await warnAboutExisting(attributes, next, previous)
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

export const podSecurity: AdmissionPlugin = {
  name: 'PodSecurity',
  resources: ['pods', 'namespaces', ...workloads.map(([, resource]) => resource)],
  validate: (attributes) => {
    if (isPodCreate(attributes) || (isPodUpdate(attributes) && isSignificant(attributes)))
      return admitPod(attributes)
    if (isPodUpdate(attributes)) return auditPrivileged(attributes)
    if (isAbout(attributes, namespaceWrites)) return admitNamespace(attributes)
    if (attributes.resource.resource === 'pods') return
    const template = isWorkloadWrite(attributes) ? templateOf(attributes.object) : undefined
    if (template === undefined) return
    return whenKnown(findNamespace(attributes), (namespace) => {
      if (namespace === undefined) return
      auditOf(attributes, template, namespace)
      warnOf(attributes, template, namespace)
    })
  },
}
