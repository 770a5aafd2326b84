/** What the status of a claim may say (kubernetes, resource/validation validateResourceClaimStatusUpdate). */
import {
  child,
  type FieldError,
  forbidden,
  invalid,
  notSupported,
  required,
  tooMany,
} from '#api/field-error.js'
import type { Fields, KubeObject } from '#api/object.js'
import { uuidProblem } from '#go/uuid.js'
import { validConditions } from '../conditions.js'
import { validLength } from '../formats.js'
import { immutable } from '../immutable.js'
import { interfaceAddressErrors } from '../network.js'
import { validNodeSelector } from '../pod/affinity.js'
import { validBindingConditions } from './bindings.js'
import {
  configsMax,
  type RequestNames,
  requestNamesOf,
  validRequestReference,
  validRequestReferences,
} from './claim.js'
import {
  validConfiguration,
  validDeviceName,
  validDriverName,
  validList,
  validPoolName,
  validRawObject,
  validSet,
} from './names.js'

const consumersMax = 256
const resultsMax = 32
const conditionsMax = 8
const dataBytesMax = 10 * 1024
const addressesMax = 16
const interfaceNameLengthMax = 256
const hardwareAddressLengthMax = 128

/** A device in all that tells it from others, as upstream prints it. */
const deviceId = ({ driver = '', pool = '', device = '', shareID = '' }: Fields) => ({
  Driver: driver,
  Pool: pool,
  Device: device,
  ShareID: shareID,
})

export const deviceKey = (device: Fields): string => JSON.stringify(deviceId(device))

const consumerErrors = (consumer: Fields, path: string): FieldError[] =>
  ['resource', 'name', 'uid']
    .filter((field) => !consumer[field])
    .map((field) => required(child(path, field)))

const uidErrors = (path: string, uid: string | undefined): FieldError[] => {
  if (uid === undefined) return []
  const problem = uuidProblem(uid)
  if (problem !== undefined) return [invalid(path, uid, `error validating uid: ${problem}`)]
  return uid.length === 36 && uid === uid.toLowerCase()
    ? []
    : [
        invalid(
          path,
          uid,
          'uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal characters',
        ),
      ]
}

const networkErrors = (path: string, data: Fields | undefined): FieldError[] => {
  if (data === undefined) return []
  const { interfaceName = '', hardwareAddress = '', ips } = data
  const limits = { max: addressesMax, keyOf: (ip: string) => ip }
  return [
    ...validLength(child(path, 'interfaceName'), interfaceName, interfaceNameLengthMax),
    ...validLength(child(path, 'hardwareAddress'), hardwareAddress, hardwareAddressLengthMax),
    ...validSet(child(path, 'ips'), ips as string[], limits, (ip, at) =>
      interfaceAddressErrors(at, ip),
    ),
  ]
}

const deviceErrors =
  (allocated: ReadonlySet<string>) =>
  (device: Fields, path: string): FieldError[] => {
    const id = deviceId(device)
    const conditions: Fields[] = device.conditions ?? []
    const at = child(path, 'conditions')
    return [
      ...validDriverName(child(path, 'driver'), id.Driver),
      ...validPoolName(child(path, 'pool'), id.Pool),
      ...validDeviceName(child(path, 'device'), id.Device),
      ...uidErrors(child(path, 'shareID'), device.shareID),
      ...(allocated.has(deviceKey(device))
        ? []
        : [invalid(path, id, 'must be an allocated device in the claim')]),
      ...(conditions.length > conditionsMax ? [tooMany(at, conditions.length, conditionsMax)] : []),
      ...validConditions(at, conditions),
      ...(device.data === undefined
        ? []
        : validRawObject(child(path, 'data'), device.data, dataBytesMax)),
      ...networkErrors(child(path, 'networkData'), device.networkData),
    ]
  }

const resultErrors =
  (names: RequestNames) =>
  (result: Fields, path: string): FieldError[] => [
    ...validRequestReference(names)(result.request ?? '', child(path, 'request')),
    ...validDriverName(child(path, 'driver'), result.driver ?? ''),
    ...validPoolName(child(path, 'pool'), result.pool ?? ''),
    ...validDeviceName(child(path, 'device'), result.device ?? ''),
    ...validBindingConditions(result, path),
    ...uidErrors(child(path, 'shareID'), result.shareID),
  ]

const sources = ['FromClaim', 'FromClass']
const configErrors =
  (names: RequestNames) =>
  (config: Fields, path: string): FieldError[] => {
    const source: string = config.source ?? ''
    const at = child(path, 'source')
    return [
      ...(source === '' ? [required(at)] : []),
      ...(source === '' || sources.includes(source) ? [] : [notSupported(at, source, sources)]),
      ...validRequestReferences(child(path, 'requests'), config.requests, names),
      ...validConfiguration(path, config),
    ]
  }

const allocationErrors = (allocation: Fields, path: string, names: RequestNames): FieldError[] => {
  const { results, config } = allocation.devices ?? {}
  const at = child(path, 'devices')
  return [
    ...validList(child(at, 'results'), results as Fields[], resultsMax, resultErrors(names)),
    ...validList(child(at, 'config'), config as Fields[], 2 * configsMax, configErrors(names)),
    ...(allocation.nodeSelector === undefined
      ? []
      : validNodeSelector(child(path, 'nodeSelector'), allocation.nodeSelector)),
  ]
}

const resultsOf = (status: Fields | undefined): Fields[] =>
  status?.allocation?.devices?.results ?? []

const reservedErrors = (next: KubeObject, previous: KubeObject): FieldError[] => {
  const { reservedFor = [], allocation } = next.status
  if (reservedFor.length === 0) return []
  const path = 'status.reservedFor'
  if (allocation === undefined)
    return [forbidden(path, 'may not be specified when `allocated` is not set')]
  const key = ({ apiGroup = '', resource = '', name = '', uid = '' }: Fields): string =>
    JSON.stringify([apiGroup, resource, name, uid])
  const before = new Set(((previous.status?.reservedFor ?? []) as Fields[]).map(key))
  const isNew = (consumer: Fields): boolean => !before.has(key(consumer))
  return next.metadata.deletionTimestamp !== undefined && reservedFor.some(isNew)
    ? [
        forbidden(
          path,
          'new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set',
        ),
      ]
    : []
}

export const validateClaimStatus = (next: KubeObject, previous: KubeObject): FieldError[] => {
  const { status } = next
  const names = requestNamesOf(next.spec)
  const allocated = new Set(resultsOf(status).map(deviceKey))
  const stored = previous.status?.allocation
  const at = 'status.allocation'
  const uidOf = ({ uid = '' }: Fields): string => uid
  return [
    ...validSet(
      'status.reservedFor',
      status.reservedFor as Fields[],
      { max: consumersMax, keyOf: uidOf },
      consumerErrors,
    ),
    ...validSet(
      'status.devices',
      status.devices as Fields[],
      { keyOf: deviceId },
      deviceErrors(allocated),
    ),
    ...reservedErrors(next, previous),
    ...(stored !== undefined && status.allocation !== undefined
      ? immutable(at, status.allocation, stored, 'resource.v1.AllocationResult')
      : []),
    ...(stored === undefined && status.allocation !== undefined
      ? allocationErrors(status.allocation, at, names)
      : []),
  ]
}

/** The status of a device goes with its allocation. */
export const dropDeallocatedDevices = (next: KubeObject, previous: KubeObject): void => {
  const devices: Fields[] | undefined = next.status.devices
  if (devices === undefined) return
  const gone = new Set(resultsOf(previous.status).map(deviceKey))
  for (const result of resultsOf(next.status)) gone.delete(deviceKey(result))
  next.status.devices = devices.filter((device) => !gone.has(deviceKey(device)))
  if (next.status.devices.length === 0) delete next.status.devices
}
