/** What a pod spec may say but better should not (kubernetes, pkg/api/pod/warnings.go). Texts for Warning headers. */
import { child, index } from '#api/field-error.js'
import type { Fields } from '#api/object.js'
import { isWholeQuantity, parseQuantity } from '#api/quantity.js'
import { seccompAnnotation, seccompPrefix } from './profile-annotations.js'
import { appArmorPrefix } from './security.js'
import { volumeWarnings } from './volume-warnings.js'

const since14 = (name: string): string =>
  `deprecated since v1.14; use "kubernetes.io/${name}" instead`
const since17 = (name: string): string => `deprecated since v1.17; use "${name}" instead`

const deprecatedLabels: Readonly<Record<string, string>> = {
  'beta.kubernetes.io/arch': since14('arch'),
  'beta.kubernetes.io/os': since14('os'),
  'beta.kubernetes.io/instance-type': since17('node.kubernetes.io/instance-type'),
  'failure-domain.beta.kubernetes.io/region': since17('topology.kubernetes.io/region'),
  'failure-domain.beta.kubernetes.io/zone': since17('topology.kubernetes.io/zone'),
}
const deprecationOf = (label: string): string | undefined =>
  Object.hasOwn(deprecatedLabels, label) ? deprecatedLabels[label] : undefined

const labelWarning = (path: string, label: string): string[] => {
  const text = deprecationOf(label)
  return text === undefined ? [] : [`${path}: ${label} is ${text}`]
}

const hard = 'requiredDuringSchedulingIgnoredDuringExecution'
const soft = 'preferredDuringSchedulingIgnoredDuringExecution'

const termWarnings = (path: string, term: Fields): string[] =>
  ((term?.matchExpressions ?? []) as Fields[]).flatMap((expression, i) =>
    labelWarning(child(index(child(path, 'matchExpressions'), i), 'key'), expression.key),
  )

const nodeWarnings = (path: string, spec: Fields): string[] => {
  if (spec.nodeSelector === undefined && spec.affinity === undefined) return []
  const at = child(path, 'affinity', 'nodeAffinity')
  const affinity = spec.affinity?.nodeAffinity
  const terms = child(at, hard, 'nodeSelectorTerms')
  return [
    ...Object.keys(spec.nodeSelector ?? {}).flatMap((key) =>
      deprecationOf(key) === undefined
        ? []
        : [`${index(child(path, 'nodeSelector'), key)}: ${deprecationOf(key)}`],
    ),
    ...((affinity?.[hard]?.nodeSelectorTerms ?? []) as Fields[]).flatMap((term, i) =>
      termWarnings(index(terms, i), term),
    ),
    ...((affinity?.[soft] ?? []) as Fields[]).flatMap(({ preference }, i) =>
      termWarnings(child(index(child(at, soft), i), 'preference'), preference),
    ),
  ]
}

const nullSelector = 'a null labelSelector results in matching no pod'
const selectorWarning = (path: string, term: Fields): string[] =>
  term.labelSelector === undefined ? [`${child(path, 'labelSelector')}: ${nullSelector}`] : []

const spreadWarnings = (path: string, constraints: Fields[] = []): string[] =>
  constraints.flatMap((constraint, i) => {
    const at = index(child(path, 'topologySpreadConstraints'), i)
    return [
      ...labelWarning(child(at, 'topologyKey'), constraint.topologyKey),
      ...selectorWarning(at, constraint),
    ]
  })

const podAffinityWarnings = (path: string, affinity: Fields | undefined): string[] => {
  if (affinity === undefined) return []
  return ['podAffinity', 'podAntiAffinity'].flatMap((kind) => {
    const at = child(path, 'affinity', kind)
    return [
      ...((affinity[kind]?.[hard] ?? []) as Fields[]).flatMap((term, i) =>
        selectorWarning(index(child(at, hard), i), term),
      ),
      ...((affinity[kind]?.[soft] ?? []) as Fields[]).flatMap((term, i) =>
        selectorWarning(
          child(index(child(at, soft), i), 'podAffinityTerm'),
          term.podAffinityTerm ?? {},
        ),
      ),
    ]
  })
}

const goneAnnotations: readonly (readonly [prefix: string, since: string, field: string])[] = [
  ['scheduler.alpha.kubernetes.io/critical-pod', 'v1.16', 'priorityClassName'],
  ['security.alpha.kubernetes.io/sysctls', 'v1.11', 'sysctls'],
  ['security.alpha.kubernetes.io/unsafe-sysctls', 'v1.11', 'sysctls'],
  [seccompAnnotation, 'v1.27', 'seccompProfile'],
  [seccompPrefix, 'v1.27', 'seccompProfile'],
]

const appArmorText = (profile: Fields | undefined): string | undefined => {
  if (profile?.type === 'RuntimeDefault') return 'runtime/default'
  if (profile?.type === 'Unconfined') return 'unconfined'
  return profile && `localhost/${profile.localhostProfile}`
}

/** Keys of annotations of which no field of the spec takes the place. */
const standsAlone =
  (annotations: Fields, spec: Fields) =>
  (key: string): boolean => {
    const containers: Fields[] = [...(spec.initContainers ?? []), ...(spec.containers ?? [])]
    const own = containers.find(({ name }) => key.slice(key.indexOf('/') + 1) === name)
    if (key === seccompAnnotation) return spec.securityContext?.seccompProfile === undefined
    if (key.startsWith(seccompPrefix))
      return own !== undefined && own.securityContext?.seccompProfile === undefined
    if (!key.startsWith(appArmorPrefix)) return true
    return (
      own !== undefined &&
      own.securityContext?.appArmorProfile === undefined &&
      appArmorText(spec.securityContext?.appArmorProfile) !== annotations[key]
    )
  }

/** Pods hear of AppArmor annotations when these become fields; templates here. */
const annotationWarnings = (
  path: string,
  annotations: Fields | undefined,
  spec: Fields,
): string[] => {
  if (annotations === undefined) return []
  const keys = Object.keys(annotations).sort().filter(standsAlone(annotations, spec))
  if (keys.length === 0) return []
  return [
    ...goneAnnotations.flatMap(([name, since, field]) =>
      keys
        .filter((key) => (name.endsWith('/') ? key.startsWith(name) : key === name))
        .map(
          (key) =>
            `${index(path, key)}: non-functional in ${since}+; use the "${field}" field instead`,
        ),
    ),
    ...keys
      .filter((key) => path !== 'metadata.annotations' && key.startsWith(appArmorPrefix))
      .map(
        (key) =>
          `${index(path, key)}: deprecated since v1.30; use the "appArmorProfile" field instead`,
      ),
  ]
}

const repeated = (
  path: string,
  what: string,
  values: readonly string[],
  field: string,
): string[] => {
  if (values.length === 0) return []
  const seen = new Set<string>()
  return values.flatMap((value, i) => {
    const at = child(index(path, i), field)
    if (value === '') return [`${at}: invalid empty ${what} ""`]
    if (seen.has(value)) return [`${at}: duplicate ${what} "${value}"`]
    seen.add(value)
    return []
  })
}

const fractionWarnings = (path: string, resources: Fields | undefined): string[] => {
  const warnings: string[] = []
  for (const name of ['memory', 'ephemeral-storage'])
    for (const list of ['limits', 'requests']) {
      const text: string | undefined = resources?.[list]?.[name]
      if (text === undefined || isWholeQuantity(parseQuantity(text))) continue
      const at = index(child(path, list), name)
      warnings.push(`${at}: fractional byte value "${text}" is invalid, must be an integer`)
    }
  return warnings
}

const hidingWarnings = (path: string, env: Fields[] = []): string[] => {
  const seen = new Set<string>()
  const warnings: string[] = []
  for (const [i, { name, value = '' }] of env.entries()) {
    if (seen.has(name) && !value.includes(`$(${name})`))
      warnings.push(
        `${index(path, i)}: hides previous definition of "${name}", which may be dropped when using apply`,
      )
    seen.add(name)
  }
  return warnings
}

interface PlacedPort {
  readonly at: string
  readonly port: Fields
}

/** How two ports of one number and protocol are in each other's way; undefined when they are not. */
const portClash = (port: Fields, other: Fields): string | undefined => {
  const [ip, otherIp] = [port.hostIP ?? '', other.hostIP ?? '']
  const [hostPort, otherHostPort] = [port.hostPort ?? 0, other.hostPort ?? 0]
  if (hostPort === otherHostPort && ip === otherIp) return 'duplicate'
  if (hostPort === 0 || otherHostPort === 0) return 'overlapping'
  return hostPort === otherHostPort && (ip === '') !== (otherIp === '')
    ? 'dangerously ambiguous'
    : undefined
}

/** Of all containers: they share the network of their pod. */
const portWarnings = (ports: readonly PlacedPort[]): string[] => {
  const before = new Map<string, PlacedPort[]>()
  return ports.flatMap((placed) => {
    const { at, port } = placed
    const { name = '', hostPort = 0, containerPort, protocol, hostIP = '' } = port
    const key = `${containerPort}/${protocol}`
    const others = before.get(key) ?? []
    before.set(key, [...others, placed])
    const printed = `{Name:${name} HostPort:${hostPort} ContainerPort:${containerPort} Protocol:${protocol} HostIP:${hostIP}}`
    return [
      ...(hostIP !== '' && hostPort === 0
        ? [`${at}: hostIP set without hostPort: ${printed}`]
        : []),
      ...others.flatMap((other) => {
        const clash = portClash(port, other.port)
        return clash === undefined ? [] : [`${at}: ${clash} port definition with ${other.at}`]
      }),
    ]
  })
}

const portsOf = (path: string, containers: Fields[] = []): PlacedPort[] =>
  containers.flatMap(({ ports = [] }, i) =>
    (ports as Fields[]).map((port, j) => ({
      at: index(child(index(path, i), 'ports'), j),
      port,
    })),
  )

const containerWarnings = (path: string, container: Fields): string[] => [
  ...fractionWarnings(child(path, 'resources'), container.resources),
  ...hidingWarnings(child(path, 'env'), container.env),
]

const containersWarnings = (path: string, containers: Fields[] = []): string[] =>
  containers.flatMap((container, i) => containerWarnings(index(path, i), container))

const negativeGrace = 'must be >= 0; negative values are invalid and will be treated as 1'

/** `path` of the spec, `metaPath` of the metadata that goes with it. */
export const podSpecWarnings = (
  path: string,
  spec: Fields,
  metaPath: string,
  metadata: Fields | undefined,
): string[] => {
  const at = (field: string) => child(path, field)
  return [
    ...nodeWarnings(path, spec),
    ...spreadWarnings(path, spec.topologySpreadConstraints),
    ...annotationWarnings(child(metaPath, 'annotations'), metadata?.annotations, spec),
    ...repeated(
      at('hostAliases'),
      'ip',
      ((spec.hostAliases ?? []) as Fields[]).map((alias) => alias.ip),
      'ip',
    ),
    ...repeated(
      at('imagePullSecrets'),
      'name',
      ((spec.imagePullSecrets ?? []) as Fields[]).map((secret) => secret.name ?? ''),
      'name',
    ),
    ...volumeWarnings(at('volumes'), spec.volumes),
    ...containersWarnings(at('initContainers'), spec.initContainers),
    ...containersWarnings(at('containers'), spec.containers),
    ...portWarnings(
      ['initContainers', 'containers', 'ephemeralContainers'].flatMap((list) =>
        portsOf(at(list), spec[list]),
      ),
    ),
    ...(spec.terminationGracePeriodSeconds < 0
      ? [`${at('terminationGracePeriodSeconds')}: ${negativeGrace}`]
      : []),
    ...podAffinityWarnings(path, spec.affinity),
  ]
}
