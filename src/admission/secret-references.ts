/**
 * Which Secrets a Pod names, and which of them its service account allows (kubernetes,
 * plugin/pkg/admission/serviceaccount).
 */
import type { Fields, KubeObject } from '#api/object.js'

interface Reference {
  readonly what: string
  readonly secret: string
}

const listOf = (value: unknown): readonly Fields[] => (value ?? []) as readonly Fields[]

const inContainers = (kind: string, containers: unknown): Reference[] =>
  listOf(containers).flatMap(({ name, env, envFrom }) => [
    ...listOf(env).flatMap((one) => {
      const secret = one.valueFrom?.secretKeyRef?.name
      return secret === undefined
        ? []
        : [{ what: `${kind} ${name} with envVar ${one.name}`, secret }]
    }),
    ...listOf(envFrom).flatMap(({ secretRef }) =>
      secretRef === undefined
        ? []
        : [{ what: `${kind} ${name} with envFrom`, secret: secretRef.name ?? '' }],
    ),
  ])

/** The field of each type of volume that names its Secret. */
const secretFields: Readonly<Record<string, string>> = {
  azureFile: 'secretName',
  secret: 'secretName',
  csi: 'nodePublishSecretRef',
}

const inVolume = (volume: Fields): unknown[] => [
  ...Object.entries(volume).map(([type, source]) => {
    const named = (source as Fields | null)?.[secretFields[type] ?? 'secretRef']
    return typeof named === 'object' ? named?.name : named
  }),
  ...listOf(volume.projected?.sources).map(({ secret }) => secret?.name),
]

/** Whether the Pod names any Secret. */
export const namesSecrets = ({ spec }: KubeObject): boolean =>
  [
    ...listOf(spec.imagePullSecrets).map(({ name }) => name),
    ...inContainers('', spec.initContainers).map(({ secret }) => secret),
    ...inContainers('', spec.containers).map(({ secret }) => secret),
    ...inContainers('', spec.ephemeralContainers).map(({ secret }) => secret),
    ...listOf(spec.volumes).flatMap(inVolume),
  ].some(Boolean)

const isTrue = (text: string | undefined): boolean =>
  ['1', 't', 'T', 'true', 'TRUE', 'True'].includes(text ?? '')

/** Whether Pods of the account may only use the Secrets that it lists. */
export const limitsSecrets = ({ metadata }: KubeObject): boolean =>
  isTrue(metadata.annotations?.['kubernetes.io/enforce-mountable-secrets'])

const firstForeign = (
  references: readonly Reference[],
  account: KubeObject,
): string | undefined => {
  const own = new Set(listOf(account.secrets).map(({ name }) => name))
  const foreign = references.find(({ secret }) => !own.has(secret))
  return (
    foreign &&
    `${foreign.what} referencing secret.secretName="${foreign.secret}" is not allowed because service account ${account.metadata.name} does not reference that secret`
  )
}

/** The first Secret of a new Pod that the account does not list; undefined if it lists all. */
export const foreignSecret = ({ spec }: KubeObject, account: KubeObject): string | undefined => {
  const own = new Set(listOf(account.secrets).map(({ name }) => name))
  const { name: accountName } = account.metadata
  for (const { secret } of listOf(spec.volumes))
    if (secret !== undefined && !own.has(secret.secretName ?? ''))
      return `volume with secret.secretName="${secret.secretName ?? ''}" is not allowed because service account ${accountName} does not reference that secret`
  const references = [
    ...inContainers('init container', spec.initContainers),
    ...inContainers('container', spec.containers),
  ]
  const foreign = firstForeign(references, account)
  if (foreign !== undefined) return foreign
  const pull = new Set(listOf(account.imagePullSecrets).map(({ name }) => name))
  const at = listOf(spec.imagePullSecrets).findIndex(({ name }) => !pull.has(name))
  return at < 0
    ? undefined
    : `imagePullSecrets[${at}].name="${spec.imagePullSecrets[at].name ?? ''}" is not allowed because service account ${accountName} does not reference that imagePullSecret`
}

/** The same for ephemeral containers. */
export const foreignEphemeralSecret = ({ spec }: KubeObject, account: KubeObject) =>
  firstForeign(inContainers('ephemeral container', spec.ephemeralContainers), account)
