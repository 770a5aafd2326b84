/** DeleteOptions: from the body alone when there is one, else from the query (apiserver, handlers/delete.go). */
import type { FastifyRequest } from 'fastify'
import { goKindOf, noKindText, noObjectText } from '#api/decoder-texts.js'
import { badRequest, unsupportedMediaType } from '#api/errors.js'
import { parseGroupVersion } from '#api/group-version.js'
import { JsonSyntaxError, type JsonTrace, parseWithTrace } from '#api/json.js'
import { getOwn, isJsonObject, withKeysInOrder } from '#api/json-object.js'
import type { JsonObject, JsonValue } from '#api/object.js'
import { protobufToJson } from '#registry/decode/protobuf.js'
import { ProtobufError } from '#registry/decode/protobuf-reader.js'
import type { Query } from '#registry/query.js'
import type { DeleteOptions } from '#registry/resource-definition.js'
import { checkDeleteOptions } from '#registry/validate-options.js'
import { parseYaml, YamlSyntaxError } from '#registry/yaml.js'
import { bodyOf, typeMetaOf } from './decode-body.js'
import { inputMediaType, mediaTypes } from './negotiation.js'

const fromQuery = (query: Query): DeleteOptions => {
  const options: DeleteOptions = {}
  const grace = query.integerIfGiven('gracePeriodSeconds')
  if (grace !== undefined) options.gracePeriodSeconds = grace
  const orphan = query.flagIfGiven('orphanDependents')
  if (orphan !== undefined) options.orphanDependents = orphan
  const policy = query.textIfGiven('propagationPolicy')
  if (policy !== undefined) options.propagationPolicy = policy
  if (query.has('dryRun')) options.dryRun = query.texts('dryRun')
  const unsafe = query.flagIfGiven('ignoreStoreReadErrorWithClusterBreakingPotential')
  if (unsafe !== undefined) options.ignoreStoreReadErrorWithClusterBreakingPotential = unsafe
  // An empty precondition in the query is none; in a body it is compared.
  const uid = query.text('uid')
  const resourceVersion = query.text('resourceVersion')
  if (uid !== '' || resourceVersion !== '')
    options.preconditions = {
      ...(uid === '' ? {} : { uid }),
      ...(resourceVersion === '' ? {} : { resourceVersion }),
    }
  return options
}

type Reader = (value: JsonValue, path: string) => unknown

const mismatch = (value: JsonValue, path: string, type: string): Error => {
  const shown = typeof value === 'number' && type === 'int64' ? `number ${value}` : goKindOf(value)
  return badRequest(`json: cannot unmarshal ${shown} into Go struct field ${path} of type ${type}`)
}
const readString: (type: string) => Reader = (type) => (value, path) => {
  if (typeof value !== 'string') throw mismatch(value, path, type)
  return value
}
const readBoolean: Reader = (value, path) => {
  if (typeof value !== 'boolean') throw mismatch(value, path, 'bool')
  return value
}
const readInteger: Reader = (value, path) => {
  if (typeof value === 'bigint') {
    if (BigInt.asIntN(64, value) !== value)
      throw badRequest(
        `json: cannot unmarshal number ${value} into Go struct field ${path} of type int64`,
      )
    return Number(value)
  }
  if (typeof value !== 'number' || !Number.isInteger(value) || Math.abs(value) >= 2 ** 63)
    throw mismatch(value, path, 'int64')
  return value
}
const readStrings: Reader = (value, path) => {
  if (!Array.isArray(value)) throw mismatch(value, path, '[]string')
  return value.map((item) => readString('string')(item ?? '', path))
}

/** `trace` knows the numbers that were written as no integer. */
const readFields = (
  object: JsonObject,
  readers: Record<string, Reader>,
  where: string,
  trace?: JsonTrace,
): JsonObject => {
  const result: JsonObject = {}
  const literals = trace?.literals.get(object)
  for (const [field, read] of Object.entries(readers)) {
    const value = getOwn(object, field)
    const literal = literals?.get(field)
    if (literal !== undefined && read === readInteger)
      throw badRequest(
        `json: cannot unmarshal number ${literal} into Go struct field ${where}.${field} of type int64`,
      )
    if (value !== undefined && value !== null)
      result[field] = read(value, `${where}.${field}`) as JsonValue
  }
  return result
}

const readPreconditions: Reader = (value, path) => {
  if (!isJsonObject(value)) throw mismatch(value, path, 'v1.Preconditions')
  return readFields(
    value,
    { uid: readString('types.UID'), resourceVersion: readString('string') },
    'Preconditions.preconditions',
  )
}

const optionReaders: Record<string, Reader> = {
  gracePeriodSeconds: readInteger,
  preconditions: readPreconditions,
  orphanDependents: readBoolean,
  propagationPolicy: readString('v1.DeletionPropagation'),
  dryRun: readStrings,
  ignoreStoreReadErrorWithClusterBreakingPotential: readBoolean,
}

// What else the scheme of options knows, by apiVersion: these are refused in other words than what nobody knows.
const knownKinds: Readonly<Record<string, readonly string[]>> = {
  v1: ['Status', 'APIVersions', 'APIGroup', 'APIGroupList', 'APIResourceList'],
  'meta.k8s.io/v1': [
    'CreateOptions',
    'GetOptions',
    'ListOptions',
    'PartialObjectMetadata',
    'PartialObjectMetadataList',
    'PatchOptions',
    'Table',
    'TableOptions',
    'UpdateOptions',
  ],
}

const wrongKindText = (kind: string, given: string): string => {
  const apiVersion = given === '' ? 'meta.k8s.io/v1' : given
  const version = apiVersion.slice(apiVersion.indexOf('/') + 1)
  return Object.hasOwn(knownKinds, apiVersion) && knownKinds[apiVersion]!.includes(kind)
    ? `converting (${version}.${kind}) to (v1.DeleteOptions): unknown conversion`
    : noKindText(kind, apiVersion)
}

/** Of the type only the kind counts: `v1`, `apps/v1` or anything else may stand before it. */
const fromValue = (value: JsonValue, trace?: JsonTrace): DeleteOptions => {
  if (value === null) return {}
  if (!isJsonObject(value)) throw badRequest(noObjectText(value))
  const { kind, apiVersion } = typeMetaOf(value, badRequest)
  if (apiVersion && parseGroupVersion(apiVersion) === undefined)
    throw badRequest(`unexpected GroupVersion string: ${apiVersion}`)
  if (kind && kind !== 'DeleteOptions') throw badRequest(wrongKindText(kind, apiVersion ?? ''))
  return readFields(value, optionReaders, 'DeleteOptions', trace)
}

const schemaName = 'io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions'

/** The one body that clients send in protobuf to every resource, whatever they read. */
const fromProtobuf = (body: Buffer): DeleteOptions => {
  try {
    return fromValue(protobufToJson(body, schemaName))
  } catch (error) {
    if (error instanceof ProtobufError) throw badRequest(error.message)
    throw error
  }
}

const fromBody = (request: FastifyRequest, body: Buffer): DeleteOptions => {
  const mediaType = inputMediaType(request.bodyType)
  if (mediaType === undefined) throw unsupportedMediaType(mediaTypes)
  if (mediaType === 'protobuf') return fromProtobuf(body)
  const text = body.toString('utf8')
  try {
    if (mediaType === 'yaml') return fromValue(withKeysInOrder(parseYaml(text).value))
    const { value, trace } = parseWithTrace(text)
    return fromValue(value, trace)
  } catch (error) {
    if (error instanceof JsonSyntaxError)
      throw badRequest(`couldn't get version/kind; json parse error: ${error.message}`)
    if (error instanceof YamlSyntaxError) throw badRequest(error.message)
    throw error
  }
}

/** Throws 400, 415 and 422. */
export const decodeDeleteOptions = (request: FastifyRequest, query: Query): DeleteOptions => {
  const body = bodyOf(request)
  const options = body.length > 0 ? fromBody(request, body) : fromQuery(query)
  // The feature gate AllowUnsafeMalformedObjectDeletion is off in 1.36: the option is dropped.
  delete options.ignoreStoreReadErrorWithClusterBreakingPotential
  checkDeleteOptions(options)
  return options
}
