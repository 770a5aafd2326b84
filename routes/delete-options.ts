/** DeleteOptions: from the body alone when there is one, else from the query (apiserver, handlers/delete.go). */
import type { FastifyRequest } from 'fastify'
import { noKindText, noObjectText } from '#api/decoder-texts.js'
import { badRequest } from '#api/errors.js'
import { formatGroupVersion, parseGroupVersion } from '#api/group-version.js'
import { typeMetaOf } from '#api/type-meta.js'
import { getOwn, isJsonObject } from '#json/object.js'
import { textOf } from '#json/utf8.js'
import type { JsonObject, JsonValue } from '#json/value.js'
import { DecodeError } from '#registry/decode/explain.js'
import { messageToJson, openEnvelope } from '#registry/decode/protobuf.js'
import { ProtobufError } from '#registry/decode/protobuf-reader.js'
import { decodeType } from '#registry/decode.js'
import type { Query } from '#registry/query.js'
import type { DeleteOptions } from '#registry/resource-definition.js'
import { checkDeleteOptions } from '#registry/validate-options.js'
import { inputTypeOf, type ParsedBody, parseText } from './decode-body.js'
import { bodyOf } from './request-body.js'

const fromQuery = (query: Query): DeleteOptions => {
  const options: DeleteOptions = {}
  const grace = query.int64IfGiven('gracePeriodSeconds')
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

/** `Table` → `v1.Table`. */
const typesOf = (goPackage: string, kinds: string): Readonly<Record<string, string>> =>
  Object.fromEntries(kinds.split(' ').map((kind) => [kind, `${goPackage}.${kind}`]))

/**
 * The other kinds in upstream's scheme of options, by apiVersion, with the name of the Go type where it differs. They are
 * refused in other words than unknown kinds (apimachinery, meta/internalversion/scheme).
 */
const knownKinds: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'meta.k8s.io/v1': typesOf(
    'v1',
    'GetOptions ListOptions PartialObjectMetadata PartialObjectMetadataList PatchOptions Table TableOptions WatchEvent',
  ),
  'meta.k8s.io/v1beta1': {
    ...typesOf('v1', 'PartialObjectMetadata Table TableOptions'),
    ...typesOf('v1beta1', 'PartialObjectMetadataList'),
  },
  'meta.k8s.io/__internal': {
    ...typesOf('v1', 'GetOptions PartialObjectMetadata Table TableOptions'),
    ...typesOf('internalversion', 'ListOptions'),
    ...typesOf('v1beta1', 'PartialObjectMetadataList'),
    WatchEvent: 'v1.InternalEvent',
  },
}
/** Known by their name, with any apiVersion. DeleteOptions is one of them. */
const unversionedKinds = typesOf(
  'v1',
  'APIGroup APIGroupList APIResourceList APIVersions CreateOptions Status UpdateOptions',
)

const wrongKindText = (kind: string, apiVersion: string): string => {
  const type = getOwn(getOwn(knownKinds, apiVersion), kind) ?? getOwn(unversionedKinds, kind)
  return type === undefined
    ? noKindText(kind, apiVersion)
    : `converting (${type}) to (v1.DeleteOptions): unknown conversion`
}

const defaultVersion = { group: 'meta.k8s.io', version: 'v1' }

/** Throws 400 unless it is DeleteOptions. A body may leave out kind and apiVersion. */
const checkOptionsKind = (value: JsonValue, body: Buffer): void => {
  if (value === null) return
  if (!isJsonObject(value)) throw badRequest(noObjectText(value))
  const { kind, apiVersion } = typeMetaOf(value, badRequest)
  const given = apiVersion && apiVersion !== '/' ? apiVersion : formatGroupVersion(defaultVersion)
  const gv = parseGroupVersion(given)
  if (gv === undefined) throw badRequest(`unexpected GroupVersion string: ${given}`)
  if (gv.version === '') {
    if (gv.group !== defaultVersion.group)
      throw badRequest(`Object 'apiVersion' is missing in '${textOf(body)}'`)
    gv.version = defaultVersion.version
  }
  if (kind && kind !== 'DeleteOptions')
    throw badRequest(wrongKindText(kind, formatGroupVersion(gv)))
}

const schemaName = 'io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions'

/** The one body that clients send in protobuf to every resource, whatever they read. */
const parseProtobuf = (body: Buffer): ParsedBody => {
  try {
    const envelope = openEnvelope(body)
    const { kind, apiVersion } = envelope
    checkOptionsKind({ kind, apiVersion }, body)
    return { value: messageToJson(envelope, schemaName), textErrors: [] }
  } catch (error) {
    if (error instanceof ProtobufError) throw badRequest(error.message)
    throw error
  }
}

const fromBody = (request: FastifyRequest, body: Buffer): DeleteOptions => {
  const mediaType = inputTypeOf(request)
  const { value, trace } =
    mediaType === 'protobuf' ? parseProtobuf(body) : parseText(request, mediaType, badRequest)
  checkOptionsKind(value, body)
  try {
    const { kind, apiVersion, ...options } = decodeType(schemaName, value, trace).value
    return options
  } catch (error) {
    if (error instanceof DecodeError) throw badRequest(error.message)
    throw error
  }
}

/** Throws 400, 415 and 422. */
export const decodeDeleteOptions = (request: FastifyRequest, query: Query): DeleteOptions => {
  const body = bodyOf(request)
  const options = body.length > 0 ? fromBody(request, body) : fromQuery(query)
  // Upstream encodes what it decoded in a version of its own.
  if (body.length > 0)
    request.kube.audit?.sent({
      kind: 'DeleteOptions',
      apiVersion: 'meta.k8s.io/__internal',
      ...(options as JsonObject),
    })
  // The feature gate AllowUnsafeMalformedObjectDeletion is off in 1.36: the option is dropped.
  delete options.ignoreStoreReadErrorWithClusterBreakingPotential
  checkDeleteOptions(options)
  return options
}
