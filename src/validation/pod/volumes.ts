/** Volumes of a pod (kubernetes, core/validation: ValidateVolumes). */
import {
  child,
  duplicate,
  type FieldError,
  forbidden,
  index,
  invalid,
  notSupported,
  required,
} from '#api/field-error.js'
import { isDns1123Subdomain } from '#api/names.js'
import type { Fields } from '#api/object.js'
import { parseQuantity } from '#api/quantity.js'
import { pushAll } from '#collections/push-all.js'
import { goQuote } from '#go/quote.js'
import { validDnsLabel } from '../formats.js'
import { validClaimSpec, validClaimTemplateMeta } from './claim-spec.js'
import {
  validConfigMapVolume,
  validDownwardVolume,
  validProjectedVolume,
  validSecretVolume,
} from './volume-files.js'
import { externalSources, type SourceCheck } from './volume-sources.js'

type SourceOfPod = (path: string, source: Fields, isPod: boolean) => FieldError[]

const emptyDir: SourceCheck = (path, { sizeLimit }) =>
  sizeLimit !== undefined && parseQuantity(sizeLimit).nano < 0n
    ? [forbidden(child(path, 'sizeLimit'), 'SizeLimit field must be a valid resource quantity')]
    : []

const ephemeral: SourceCheck = (path, { volumeClaimTemplate }) => {
  const at = child(path, 'volumeClaimTemplate')
  if (volumeClaimTemplate === undefined) return [required(at)]
  return [
    ...validClaimTemplateMeta(child(at, 'metadata'), volumeClaimTemplate.metadata ?? {}),
    ...validClaimSpec(child(at, 'spec'), volumeClaimTemplate.spec ?? {}),
  ]
}

const pullPolicies = ['Always', 'IfNotPresent', 'Never']

const image: SourceOfPod = (path, { reference = '', pullPolicy }, isPod) => [
  // A template may leave it for the creator of its Pods to fill in.
  ...(isPod && reference === '' ? [required(child(path, 'reference'))] : []),
  ...(pullPolicy === undefined || pullPolicies.includes(pullPolicy)
    ? []
    : [notSupported(child(path, 'pullPolicy'), pullPolicy, pullPolicies)]),
]

const { hostPath, gitRepo, gcePersistentDisk, awsElasticBlockStore, nfs, ...others } =
  externalSources

// The order in which upstream looks for a second source.
const sources: Readonly<Record<string, SourceOfPod | undefined>> = {
  emptyDir,
  hostPath,
  gitRepo,
  gcePersistentDisk,
  awsElasticBlockStore,
  secret: validSecretVolume,
  nfs,
  iscsi: others.iscsi,
  glusterfs: others.glusterfs,
  flocker: others.flocker,
  persistentVolumeClaim: others.persistentVolumeClaim,
  rbd: others.rbd,
  cinder: others.cinder,
  cephfs: others.cephfs,
  quobyte: others.quobyte,
  downwardAPI: validDownwardVolume,
  fc: others.fc,
  flexVolume: others.flexVolume,
  configMap: validConfigMapVolume,
  azureFile: others.azureFile,
  vsphereVolume: others.vsphereVolume,
  photonPersistentDisk: others.photonPersistentDisk,
  portworxVolume: others.portworxVolume,
  azureDisk: others.azureDisk,
  storageos: others.storageos,
  projected: validProjectedVolume,
  scaleIO: others.scaleIO,
  csi: others.csi,
  ephemeral,
  image,
}

// Upstream's own spelling in the error of a second source.
const misspelt: Readonly<Record<string, string>> = { cephfs: 'cephFS', downwardAPI: 'downwarAPI' }

interface VolumesOf {
  /** Empty for templates and generated names. */
  readonly podName: string
  /** False for templates. */
  readonly isPod: boolean
}

const sourceErrors = (
  path: string,
  volume: Fields,
  { podName, isPod }: VolumesOf,
): FieldError[] => {
  const given = Object.keys(sources).filter((name) => volume[name] !== undefined)
  if (given.length === 0) return [required(path, 'must specify a volume type')]
  return given.flatMap((name, i) => [
    ...(i === 0
      ? sources[name]!(child(path, name), volume[name], isPod)
      : [
          forbidden(child(path, misspelt[name] ?? name), 'may not specify more than 1 volume type'),
        ]),
    // Upstream asks this of every iscsi, and the other only of an ephemeral that stands alone or first.
    ...(name === 'iscsi' ? iscsiNameErrors(path, volume) : []),
    ...(name === 'ephemeral' && i === 0 ? ephemeralNameErrors(path, volume, podName) : []),
  ])
}

const iscsiNameErrors = (path: string, { name = '', iscsi }: Fields): FieldError[] =>
  iscsi.initiatorName !== undefined && Buffer.byteLength(`${name}:${iscsi.targetPortal}`) > 64
    ? [
        invalid(
          child(path, 'name'),
          name,
          'Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.',
        ),
      ]
    : []

const ephemeralNameErrors = (
  path: string,
  { name = '' }: Fields,
  podName: string,
): FieldError[] => {
  if (podName === '' || name === '') return []
  const claim = `${podName}-${name}`
  return isDns1123Subdomain(claim).map((message) =>
    invalid(child(path, 'name'), name, `PVC name ${goQuote(claim)}: ${message}`),
  )
}

interface VolumesResult {
  errors: FieldError[]
  /** The volumes without an error, by name. */
  known: ReadonlyMap<string, Fields>
}

const noVolumes: VolumesResult['known'] = new Map()

export const checkVolumes = (
  path: string,
  volumes: Fields[] | undefined,
  pod: VolumesOf,
): VolumesResult => {
  if (volumes === undefined) return { errors: [], known: noVolumes }
  const known = new Map<string, Fields>()
  const errors: FieldError[] = []
  const ephemeralClaims = new Set(
    volumes.filter((v) => v.ephemeral && pod.podName !== '').map((v) => `${pod.podName}-${v.name}`),
  )
  volumes.forEach((volume, i) => {
    const at = index(path, i)
    const name: string = volume.name ?? ''
    const own = sourceErrors(at, volume, pod)
    own.push(
      ...(name === '' ? [required(child(at, 'name'))] : validDnsLabel(child(at, 'name'), name)),
    )
    if (known.has(name)) own.push(duplicate(child(at, 'name'), name))
    if (own.length === 0) known.set(name, volume)
    pushAll(errors, own)
    const claim = volume.persistentVolumeClaim?.claimName
    if (claim !== undefined && ephemeralClaims.has(claim))
      errors.push(
        invalid(
          child(at, 'persistentVolumeClaim', 'claimName'),
          claim,
          'must not reference a PVC that gets created for an ephemeral volume',
        ),
      )
  })
  return { errors, known }
}
