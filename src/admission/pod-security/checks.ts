/**
 * The checks of the Pod Security Standards, in upstream's order and words (pod-security-admission, policy). Each yields
 * its reason and detail, or undefined when the pod passes.
 */

import type { KubeObject } from '#api/object.js'
import { compareTexts } from '#go/compare-texts.js'
import { goQuote } from '#go/quote.js'
import { seccompAnnotation, seccompPrefix } from '#validation/pod/profile-annotations.js'
import { appArmorPrefix } from '#validation/pod/security.js'

export interface Violation {
  reason: string
  detail: string
}
interface Container {
  name: string
  // biome-ignore lint/suspicious/noExplicitAny: a container's fields are read here and there, none is written
  [field: string]: any
}
interface Subject {
  metadata: KubeObject['metadata']
  spec: KubeObject['spec']
  /** Init containers first, then containers, then ephemeral ones, as upstream visits them. */
  containers: Container[]
  /** The standard's version 1.x, which may be older than the server; Infinity for the latest. */
  minor: number
}
type Check = (pod: Subject) => Violation | undefined

export const subjectOf = (
  metadata: KubeObject['metadata'],
  spec: KubeObject['spec'],
  minor: number,
): Subject => ({
  metadata,
  spec,
  minor,
  containers: [
    ...(spec.initContainers ?? []),
    ...(spec.containers ?? []),
    ...(spec.ephemeralContainers ?? []),
  ],
})

const quoted = (values: readonly string[]): string => values.map((v) => `"${v}"`).join(', ')
const sorted = (values: Iterable<string>): string[] => [...new Set(values)].sort()
const plural = (word: string, n: number): string => (n === 1 ? word : `${word}s`)
const named = (containers: readonly Container[]): string =>
  `${plural('container', containers.length)} ${quoted(containers.map((c) => c.name))}`
// biome-ignore lint/suspicious/noExplicitAny: a security context of a pod or of a container
const context = (c: any): Container => c.securityContext ?? {}
const violated = (reason: string, detail: string): Violation => ({ reason, detail })

/** `pod and container "a"` for those that set what they must not. */
const setters = (
  podBad: boolean,
  bad: readonly Container[],
  extra: readonly string[] = [],
): string =>
  [...(podBad ? ['pod'] : []), ...(bad.length > 0 ? [named(bad)] : []), ...extra].join(' and ')

const appArmor: Check = ({ metadata, spec, containers }) => {
  const isBad = (profile: Container | undefined): boolean => profile?.type === 'Unconfined'
  const allowed = (value: string): boolean =>
    value === '' || value === 'runtime/default' || value.startsWith('localhost/')
  const annotations = Object.entries(metadata.annotations ?? {})
    .filter(([key, value]) => key.startsWith(appArmorPrefix) && !allowed(value))
    .map(([key, value]) => `${key}=${goQuote(value)}`)
    .sort()
  const podBad = isBad(context(spec).appArmorProfile)
  const bad = containers.filter((c) => isBad(context(c).appArmorProfile))
  const values = [...(podBad || bad.length > 0 ? ['Unconfined'] : []), ...annotations]
  if (values.length === 0) return undefined
  const notes = annotations.length > 0 ? [plural('annotation', annotations.length)] : []
  return violated(
    `forbidden AppArmor ${plural('profile', values.length)}`,
    `${setters(podBad, bad, notes)} must not set AppArmor profile type to ${quoted(values)}`,
  )
}

const defaultCapabilities = new Set(
  `AUDIT_WRITE CHOWN DAC_OVERRIDE FOWNER FSETID KILL MKNOD NET_BIND_SERVICE SETFCAP SETGID SETPCAP SETUID
  SYS_CHROOT`.split(/\s+/),
)
const addsBeyond = (c: Container, allowed: ReadonlySet<string>): string[] =>
  (context(c).capabilities?.add ?? []).filter((name: string) => !allowed.has(name))
const capabilityDetail = (containers: Container[], allowed: ReadonlySet<string>) => {
  const bad = containers.filter((c) => addsBeyond(c, allowed).length > 0)
  if (bad.length === 0) return undefined
  const names = sorted(bad.flatMap((c) => addsBeyond(c, allowed)))
  return `${named(bad)} must not include ${quoted(names)} in securityContext.capabilities.add`
}
const capabilitiesBaseline: Check = ({ containers }) => {
  const detail = capabilityDetail(containers, defaultCapabilities)
  return detail === undefined ? undefined : violated('non-default capabilities', detail)
}

const hostNamespaces: Check = ({ spec }) => {
  const set = ['hostNetwork', 'hostPID', 'hostIPC'].filter((field) => spec[field])
  return set.length === 0
    ? undefined
    : violated('host namespaces', set.map((field) => `${field}=true`).join(', '))
}

const hostPathVolumes: Check = ({ spec }) => {
  const bad = (spec.volumes ?? []).filter((v: Container) => v.hostPath)
  if (bad.length === 0) return undefined
  const names = bad.map((v: Container) => v.name)
  return violated('hostPath volumes', `${plural('volume', bad.length)} ${quoted(names)}`)
}

const hostPortsOf = (c: Container): number[] =>
  (c.ports ?? []).map((p: Container) => p.hostPort ?? 0).filter((port: number) => port !== 0)
const hostPorts: Check = ({ containers }) => {
  const bad = containers.filter((c) => hostPortsOf(c).length > 0)
  if (bad.length === 0) return undefined
  const ports = sorted(bad.flatMap(hostPortsOf).map(String))
  const verb = bad.length === 1 ? 'uses' : 'use'
  return violated(
    'hostPort',
    `${named(bad)} ${verb} ${plural('hostPort', ports.length)} ${ports.join(', ')}`,
  )
}

const handlerHosts = (c: Container): string[] =>
  [
    c.livenessProbe,
    c.readinessProbe,
    c.startupProbe,
    c.lifecycle?.postStart,
    c.lifecycle?.preStop,
  ].flatMap((handler) => [handler?.httpGet?.host, handler?.tcpSocket?.host].filter(Boolean))
const handlerHost: Check = ({ containers }) => {
  const bad = containers.filter((c) => handlerHosts(c).length > 0)
  if (bad.length === 0) return undefined
  const hosts = sorted(bad.flatMap(handlerHosts))
  const verb = bad.length === 1 ? 'uses' : 'use'
  // This check alone names its containers in the order of their names.
  const byName = bad.toSorted((a, b) => compareTexts(a.name, b.name))
  return violated(
    'probe or lifecycle host',
    `${named(byName)} ${verb} probe or lifecycle ${plural('host', hosts.length)} ${quoted(hosts)}`,
  )
}

const privileged: Check = ({ containers }) => {
  const bad = containers.filter((c) => context(c).privileged === true)
  return bad.length === 0
    ? undefined
    : violated('privileged', `${named(bad)} must not set securityContext.privileged=true`)
}

const procMountRestricted: Check = ({ containers }) => {
  const isBad = (c: Container): boolean => (context(c).procMount ?? 'Default') !== 'Default'
  const bad = containers.filter(isBad)
  if (bad.length === 0) return undefined
  const values = quoted(sorted(bad.map((c) => context(c).procMount)))
  return violated('procMount', `${named(bad)} must not set securityContext.procMount to ${values}`)
}
/** Root in a user namespace is not root on the node: since 1.35 some checks skip such Pods. */
const isRelaxed = ({ spec, minor }: Subject): boolean => spec.hostUsers === false && minor >= 35
const procMountBaseline: Check = (pod) => (isRelaxed(pod) ? undefined : procMountRestricted(pod))

const oldLinuxTypes = ['', 'container_t', 'container_init_t', 'container_kvm_t']
const seLinux: Check = ({ spec, containers, minor }) => {
  const linuxTypes = new Set([...oldLinuxTypes, ...(minor >= 31 ? ['container_engine_t'] : [])])
  const isBad = (o: Container | undefined): boolean =>
    o !== undefined && (!linuxTypes.has(o.type ?? '') || Boolean(o.user) || Boolean(o.role))
  const podBad = isBad(context(spec).seLinuxOptions)
  const bad = containers.filter((c) => isBad(context(c).seLinuxOptions))
  if (!podBad && bad.length === 0) return undefined
  const all: Container[] = [...(podBad ? [spec] : []), ...bad].map((c) => context(c).seLinuxOptions)
  const types = sorted(all.map((o) => o.type ?? '').filter((type) => !linuxTypes.has(type)))
  const details = [
    ...(types.length > 0 ? [`${plural('type', types.length)} ${quoted(types)}`] : []),
    ...(all.some((o) => o.user) ? ['user may not be set'] : []),
    ...(all.some((o) => o.role) ? ['role may not be set'] : []),
  ]
  return violated(
    'seLinuxOptions',
    `${setters(podBad, bad)} set forbidden securityContext.seLinuxOptions: ${details.join('; ')}`,
  )
}

const isBadSeccomp = (c: Container): boolean => {
  const type = context(c).seccompProfile?.type
  return type !== undefined && type !== 'RuntimeDefault' && type !== 'Localhost'
}
const seccompBaseline: Check = ({ spec, containers }) => {
  const podBad = isBadSeccomp(spec)
  const bad = containers.filter(isBadSeccomp)
  if (!podBad && bad.length === 0) return undefined
  const values = [...(podBad ? [spec] : []), ...bad].map((c) => context(c).seccompProfile.type)
  return violated(
    'seccompProfile',
    `${setters(podBad, bad)} must not set securityContext.seccompProfile.type to ${quoted(sorted(values))}`,
  )
}

/** Before 1.19 the profiles were annotations, which no runtime follows any more. */
const seccompAnnotations: Check = ({ metadata: { annotations = {} }, containers }) => {
  const keys = [seccompAnnotation, ...containers.map(({ name }) => seccompPrefix + name)]
  const isBad = (value: string | undefined): boolean =>
    value !== undefined &&
    value !== 'runtime/default' &&
    value !== 'docker/default' &&
    !value.startsWith('localhost/')
  const bad = keys.filter((key) => isBad(annotations[key]))
  if (bad.length === 0) return undefined
  const texts = sorted(bad.map((key) => `${key}=${goQuote(annotations[key]!)}`))
  return violated(
    'seccompProfile',
    `forbidden ${plural('annotation', texts.length)} ${texts.join(', ')}`,
  )
}

/** By the version that first allows them. */
const safeSysctls: readonly (readonly [number, string])[] = [
  [
    0,
    'kernel.shm_rmid_forced net.ipv4.ip_local_port_range net.ipv4.tcp_syncookies net.ipv4.ping_group_range net.ipv4.ip_unprivileged_port_start',
  ],
  [27, 'net.ipv4.ip_local_reserved_ports'],
  [
    29,
    'net.ipv4.tcp_keepalive_time net.ipv4.tcp_fin_timeout net.ipv4.tcp_keepalive_intvl net.ipv4.tcp_keepalive_probes',
  ],
  [32, 'net.ipv4.tcp_rmem net.ipv4.tcp_wmem'],
]
const sysctls: Check = ({ spec, minor }) => {
  const safe = new Set(
    safeSysctls.filter(([since]) => minor >= since).flatMap(([, names]) => names.split(' ')),
  )
  const bad = (context(spec).sysctls ?? [])
    .map((s: Container) => s.name)
    .filter((name: string) => !safe.has(name))
  return bad.length === 0 ? undefined : violated('forbidden sysctls', bad.join(', '))
}

const hostProcess: Check = ({ spec, containers }) => {
  const isBad = (c: Container): boolean => context(c).windowsOptions?.hostProcess === true
  const podBad = isBad(spec)
  const bad = containers.filter(isBad)
  return podBad || bad.length > 0
    ? violated(
        'hostProcess',
        `${setters(podBad, bad)} must not set securityContext.windowsOptions.hostProcess=true`,
      )
    : undefined
}

const isWindows = ({ spec, minor }: Subject): boolean => spec.os?.name === 'windows' && minor >= 25

const privilegeEscalation: Check = (pod) => {
  const bad = pod.containers.filter((c) => context(c).allowPrivilegeEscalation !== false)
  if (isWindows(pod) || bad.length === 0) return undefined
  return violated(
    'allowPrivilegeEscalation != false',
    `${named(bad)} must set securityContext.allowPrivilegeEscalation=false`,
  )
}

const capabilitiesRestricted: Check = (pod) => {
  if (isWindows(pod)) return undefined
  const keeps = pod.containers.filter((c) => !context(c).capabilities?.drop?.includes('ALL'))
  const added = capabilityDetail(pod.containers, new Set(['NET_BIND_SERVICE']))
  const details = [
    ...(keeps.length > 0
      ? [`${named(keeps)} must set securityContext.capabilities.drop=["ALL"]`]
      : []),
    ...(added === undefined ? [] : [added]),
  ]
  return details.length === 0
    ? undefined
    : violated('unrestricted capabilities', details.join('; '))
}

const allowedVolumes = new Set(
  'configMap csi downwardAPI emptyDir ephemeral persistentVolumeClaim projected secret image'.split(
    ' ',
  ),
)
const restrictedVolumes: Check = ({ spec }) => {
  const typeOf = (v: Container): string => Object.keys(v).find((key) => key !== 'name') ?? ''
  const bad = (spec.volumes ?? []).filter((v: Container) => !allowedVolumes.has(typeOf(v)))
  if (bad.length === 0) return undefined
  const types = sorted(bad.map(typeOf))
  const verb = bad.length === 1 ? 'uses' : 'use'
  const names = quoted(bad.map((v: Container) => v.name))
  return violated(
    'restricted volume types',
    `${plural('volume', bad.length)} ${names} ${verb} restricted volume ${plural('type', types.length)} ${quoted(types)}`,
  )
}

/** Neither Pod nor container may set false; a container without a value inherits the Pod's. */
const runAsNonRoot: Check = (checked) => {
  if (isRelaxed(checked)) return undefined
  const { spec, containers } = checked
  const reason = 'runAsNonRoot != true'
  const pod = context(spec).runAsNonRoot
  const explicit = containers.filter((c) => context(c).runAsNonRoot === false)
  const silent = containers.filter((c) => context(c).runAsNonRoot === undefined)
  const podBad = pod === false
  if (podBad || explicit.length > 0)
    return violated(
      reason,
      `${setters(podBad, explicit)} must not set securityContext.runAsNonRoot=false`,
    )
  if (pod === true || silent.length === 0) return undefined
  return violated(reason, `pod or ${named(silent)} must set securityContext.runAsNonRoot=true`)
}

const runAsUser: Check = (pod) => {
  if (isRelaxed(pod)) return undefined
  const { spec, containers } = pod
  const podBad = context(spec).runAsUser === 0
  const bad = containers.filter((c) => context(c).runAsUser === 0)
  return podBad || bad.length > 0
    ? violated('runAsUser=0', `${setters(podBad, bad)} must not set runAsUser=0`)
    : undefined
}

const seccompRestricted: Check = (pod) => {
  if (isWindows(pod)) return undefined
  const explicit = seccompBaseline(pod)
  if (explicit !== undefined) return explicit
  const silent = pod.containers.filter((c) => context(c).seccompProfile === undefined)
  if (silent.length === 0 || context(pod.spec).seccompProfile !== undefined) return undefined
  return violated(
    'seccompProfile',
    `pod or ${named(silent)} must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"`,
  )
}

/** `check` for versions from 1.`minor` on, and for older ones `before`, if any. */
const since =
  (minor: number, check: Check, before?: Check): Check =>
  (pod) =>
    pod.minor >= minor ? check(pod) : before?.(pod)

const baseline: readonly Check[] = [
  appArmor,
  capabilitiesBaseline,
  hostNamespaces,
  hostPathVolumes,
  hostPorts,
  since(34, handlerHost),
  privileged,
  procMountBaseline,
  seLinux,
  since(19, seccompBaseline, seccompAnnotations),
  sysctls,
  hostProcess,
]
/** The restricted level has stricter forms of some of the baseline's checks in their place. */
const restricted: readonly Check[] = [
  appArmor,
  since(22, () => undefined, capabilitiesBaseline),
  hostNamespaces,
  hostPorts,
  since(34, handlerHost),
  privileged,
  since(35, () => undefined, procMountBaseline),
  seLinux,
  since(19, () => undefined, seccompAnnotations),
  sysctls,
  hostProcess,
  since(8, privilegeEscalation),
  since(22, capabilitiesRestricted),
  since(35, procMountRestricted),
  restrictedVolumes,
  runAsNonRoot,
  since(23, runAsUser),
  since(19, seccompRestricted),
]

const checksOf: Readonly<Record<string, readonly Check[]>> = {
  privileged: [],
  baseline,
  restricted,
}

export const violations = (level: string, pod: Subject): Violation[] =>
  (checksOf[level] ?? []).flatMap((check) => check(pod) ?? [])
