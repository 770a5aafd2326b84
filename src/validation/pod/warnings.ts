/**
 * Warnings about pod specs that are valid but unwise (kubernetes, pkg/api/pod/warnings.go). Texts for Warning headers.
 */

import { containerLists } from '#api/container-lists.js'
import { child, index } from '#api/field-error.js'
import type { Fields } from '#api/object.js'
import { isWholeQuantity, parseQuantity } from '#api/quantity.js'
import { goQuote } from '#go/quote.js'
import { ipWarnings } from '../network.js'
import { bareLabelWarning, labelWarning, nodeTermWarnings } from '../node-labels.js'
import { portNameWarnings, portsOf, portWarnings } from './port-warnings.js'
import { seccompAnnotation, seccompPrefix } from './profile-annotations.js'
import { appArmorPrefix } from './security.js'
import { volumeWarnings } from './volume-warnings.js'

const hard = 'requiredDuringSchedulingIgnoredDuringExecution'
const soft = 'preferredDuringSchedulingIgnoredDuringExecution'

const nodeWarnings = (path: string, spec: Fields): string[] => {
  if (spec.nodeSelector === undefined && spec.affinity === undefined) return []
  const at = child(path, 'affinity', 'nodeAffinity')
  const affinity = spec.affinity?.nodeAffinity
  const terms = child(at, hard, 'nodeSelectorTerms')
  return [
    ...Object.keys(spec.nodeSelector ?? {}).flatMap((key) =>
      bareLabelWarning(index(child(path, 'nodeSelector'), key), key),
    ),
    ...((affinity?.[hard]?.nodeSelectorTerms ?? []) as Fields[]).flatMap((term, i) =>
      nodeTermWarnings(index(terms, i), term, { areValuesChecked: false }),
    ),
    ...((affinity?.[soft] ?? []) as Fields[]).flatMap(({ preference }, i) =>
      nodeTermWarnings(child(index(child(at, soft), i), 'preference'), preference, {
        areValuesChecked: true,
      }),
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

const goneText = (since: string, field: string): string =>
  `non-functional in ${since}+; use the "${field}" field instead`

const goneAnnotations: Readonly<Record<string, string>> = {
  'scheduler.alpha.kubernetes.io/critical-pod': goneText('v1.16', 'priorityClassName'),
  'security.alpha.kubernetes.io/sysctls': goneText('v1.11', 'sysctls'),
  'security.alpha.kubernetes.io/unsafe-sysctls': goneText('v1.11', 'sysctls'),
}

const annotationWarnings = (path: string, annotations: Fields): string[] =>
  Object.keys(goneAnnotations)
    .filter((key) => annotations[key] !== undefined)
    .map((key) => `${index(path, key)}: ${goneAnnotations[key]}`)

const seccompWarning = (
  path: string,
  annotations: Fields,
  key: string,
  holder: Fields,
): string[] =>
  annotations[key] === undefined || holder.securityContext?.seccompProfile !== undefined
    ? []
    : [`${index(path, key)}: ${goneText('v1.27', 'seccompProfile')}`]

const appArmorText = (profile: Fields | undefined): string | undefined => {
  if (profile?.type === 'RuntimeDefault') return 'runtime/default'
  if (profile?.type === 'Unconfined') return 'unconfined'
  return profile && `localhost/${profile.localhostProfile}`
}

/** Pods hear of AppArmor annotations when these become fields; templates here, unless their own profile says the same. */
const appArmorWarning = (path: string, { name, securityContext }: Fields, pod: Pod): string[] => {
  const key = `${appArmorPrefix}${name}`
  const text = pod.annotations[key]
  const isFine =
    !pod.isTemplate ||
    text === undefined ||
    securityContext?.appArmorProfile !== undefined ||
    appArmorText(pod.spec.securityContext?.appArmorProfile) === text
  return isFine
    ? []
    : [`${index(path, key)}: deprecated since v1.30; use the "appArmorProfile" field instead`]
}

const repeated = (
  path: string,
  what: string,
  values: readonly string[],
  field: string,
): string[] => {
  const seen = new Set<string>()
  return values.flatMap((value, i) => {
    if (seen.has(value))
      return [`${child(index(path, i), field)}: duplicate ${what} ${goQuote(value)}`]
    seen.add(value)
    return []
  })
}

const secretWarnings = (path: string, names: readonly string[]): string[] => [
  ...repeated(path, 'name', names, 'name'),
  ...names.flatMap((name, i) =>
    name === '' ? [`${child(index(path, i), 'name')}: invalid empty name ""`] : [],
  ),
]

const byteResources = ['memory', 'ephemeral-storage']
const fractionWarnings = (
  path: string,
  holder: Fields = {},
  lists: readonly string[],
): string[] => {
  const warnings: string[] = []
  for (const name of byteResources)
    for (const list of lists) {
      const text: string | undefined = holder[list]?.[name]
      if (text === undefined || isWholeQuantity(parseQuantity(text))) continue
      const at = index(child(path, list), name)
      warnings.push(`${at}: fractional byte value ${goQuote(text)} is invalid, must be an integer`)
    }
  return warnings
}

const hidingWarnings = (path: string, env: Fields[] = []): string[] => {
  const seen = new Set<string>()
  const warnings: string[] = []
  for (let i = 0; i < env.length; i++) {
    const { name, value = '', valueFrom } = env[i]!
    if (seen.has(name)) {
      const before = `$(${name})`
      // A value that extends the former one hides nothing; the former value alone does.
      const isKept = valueFrom === undefined && value !== before && value.includes(before)
      if (!isKept)
        warnings.push(
          `${index(path, i)}: hides previous definition of ${goQuote(name)}, which may be dropped when using apply`,
        )
    }
    seen.add(name)
  }
  return warnings
}

interface Pod {
  readonly spec: Fields
  readonly annotations: Fields
  readonly annotationsAt: string
  readonly isTemplate: boolean
}

const containerWarnings = (path: string, container: Fields, pod: Pod): string[] => [
  ...seccompWarning(
    pod.annotationsAt,
    pod.annotations,
    `${seccompPrefix}${container.name}`,
    container,
  ),
  ...appArmorWarning(pod.annotationsAt, container, pod),
  ...fractionWarnings(child(path, 'resources'), container.resources, ['limits', 'requests']),
  ...hidingWarnings(child(path, 'env'), container.env),
]

const containersWarnings = (path: string, pod: Pod): string[] =>
  ['initContainers', 'containers'].flatMap((list) =>
    ((pod.spec[list] ?? []) as Fields[]).flatMap((container, i) =>
      containerWarnings(index(child(path, list), i), container, pod),
    ),
  )

const negativeGrace = 'must be >= 0; negative values are invalid and will be treated as 1'

/** `path` of the spec, `metaPath` of the metadata that goes with it. */
export const podSpecWarnings = (
  path: string,
  spec: Fields,
  metaPath: string,
  metadata: Fields | undefined,
): string[] => {
  const at = (field: string) => child(path, field)
  const annotations: Fields = metadata?.annotations ?? {}
  const annotationsAt = child(metaPath, 'annotations')
  const pod: Pod = { spec, annotations, annotationsAt, isTemplate: metaPath !== 'metadata' }
  const aliases = ((spec.hostAliases ?? []) as Fields[]).map(({ ip }): string => ip ?? '')
  const secrets = ((spec.imagePullSecrets ?? []) as Fields[]).map(({ name }): string => name ?? '')
  const ports = portsOf(spec, containerLists, path)
  return [
    ...nodeWarnings(path, spec),
    ...spreadWarnings(path, spec.topologySpreadConstraints),
    ...annotationWarnings(annotationsAt, annotations),
    ...(spec.volumes ? volumeWarnings(at('volumes'), spec.volumes) : []),
    ...(spec.hostAliases ? repeated(at('hostAliases'), 'ip', aliases, 'ip') : []),
    ...(spec.imagePullSecrets ? secretWarnings(at('imagePullSecrets'), secrets) : []),
    ...fractionWarnings(path, spec, ['overhead']),
    ...seccompWarning(annotationsAt, annotations, seccompAnnotation, spec),
    ...containersWarnings(path, pod),
    ...portWarnings(ports),
    ...portNameWarnings(ports),
    ...(spec.terminationGracePeriodSeconds < 0
      ? [`${at('terminationGracePeriodSeconds')}: ${negativeGrace}`]
      : []),
    ...podAffinityWarnings(path, spec.affinity),
    ...((spec.dnsConfig?.nameservers ?? []) as string[]).flatMap((server, i) =>
      ipWarnings(index(child(at('dnsConfig'), 'nameservers'), i), server),
    ),
    ...aliases.flatMap((ip, i) => ipWarnings(child(index(at('hostAliases'), i), 'ip'), ip)),
  ]
}
