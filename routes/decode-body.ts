/** From the bytes of a body to a decoded object, with upstream's texts for everything that can be wrong with it. */

import type { FastifyRequest } from 'fastify'
import { noKindText, noObjectText, strictText } from '#api/decoder-texts.js'
import { ApiError, badRequest, cannotBeHandled, unsupportedMediaType } from '#api/errors.js'
import { formatGroupVersion, type GroupVersionKind, parseGroupVersion } from '#api/group-version.js'
import { internalType } from '#api/internal-type.js'
import type { KubeObject } from '#api/object.js'
import { type TypeMeta, typeMetaOf } from '#api/type-meta.js'
import { JsonSyntaxError, parseWithTrace, stringify } from '#json/json.js'
import { isJsonObject, withKeysInOrder } from '#json/object.js'
import type { JsonTrace } from '#json/traced.js'
import { textOf } from '#json/utf8.js'
import type { JsonObject, JsonValue } from '#json/value.js'
import {
  type Envelope,
  hasProtobuf,
  messageToJson,
  openEnvelope,
} from '#registry/decode/protobuf.js'
import { ProtobufError } from '#registry/decode/protobuf-reader.js'
import { decodeBuiltIn, decodeObject, saidGvk } from '#registry/decode.js'
import type { RequestContext, ResourceDefinition } from '#registry/resource-definition.js'
import type { ResourceTable } from '#registry/resource-table.js'
import { YamlSyntaxError } from '#registry/yaml/messages.js'
import { inputMediaType, mediaTypes } from './answers/negotiation.js'
import { registeredKind } from './registered-kinds.js'
import { bodyOf, yamlOf } from './request-body.js'

const summaryLength = 30

/** What upstream shows of a body that it could not read: text when it looks like JSON, else hex. */
const summarize = (body: Buffer): string => {
  if (body.length === 0) return '<empty>'
  const encoding = body[0] === 0x7b ? 'utf8' : 'hex'
  return body.length > summaryLength
    ? `${body.subarray(0, summaryLength).toString(encoding)} ...`
    : body.toString(encoding)
}

export interface ParsedBody {
  readonly value: JsonValue
  readonly trace?: JsonTrace | undefined
  /** Strict errors of the text itself (YAML keys that come twice). */
  readonly textErrors: readonly string[]
  /** Of protobuf, whose `value` is its type alone: the whole value, read as a type of openapi/data/schemas.json. */
  readonly valueAs?: (said: GroupVersionKind, schemaName: string) => JsonValue
}

/** Throws `refuse(message)`. */
export const parseText = (
  request: FastifyRequest,
  mediaType: 'json' | 'yaml',
  refuse: (message: string) => Error,
): ParsedBody => {
  if (mediaType === 'yaml') {
    try {
      const { value, duplicates } = yamlOf(request)
      // Upstream decodes the JSON that it makes of it, whose keys are in order.
      return { value: withKeysInOrder(value), textErrors: duplicates }
    } catch (error) {
      if (error instanceof YamlSyntaxError) throw refuse(error.message)
      throw error
    }
  }
  try {
    const body = bodyOf(request)
    const { value, trace } = parseWithTrace(textOf(body), body)
    return { value, trace, textErrors: [] }
  } catch (error) {
    if (error instanceof JsonSyntaxError)
      throw refuse(`couldn't get version/kind; json parse error: ${error.message}`)
    throw error
  }
}

export type FieldValidation = 'Ignore' | 'Warn' | 'Strict'

export const fieldValidationOf = (text: string): FieldValidation =>
  text === '' ? 'Warn' : (text as FieldValidation)

/** Throws 415. */
export const inputTypeOf = (request: FastifyRequest): 'json' | 'yaml' | 'protobuf' => {
  const type = inputMediaType(request.bodyType)
  if (type === undefined) throw unsupportedMediaType(mediaTypes)
  return type
}

/** What is in the envelope is read once its kind is known. Throws 415 for a kind without protobuf, `refuse(message)` for bytes that are none. */
const parseProtobuf = (
  body: Buffer,
  { schemaName, gvk }: ResourceDefinition,
  refuse: (message: string) => Error,
): ParsedBody => {
  if (!hasProtobuf(schemaName)) throw unsupportedMediaType(mediaTypes)
  try {
    const envelope = openEnvelope(body)
    const { kind, apiVersion } = envelope
    return {
      value: { kind, apiVersion },
      textErrors: [],
      valueAs: (said, name) => readMessage(envelope, name, said, gvk.kind),
    }
  } catch (error) {
    if (error instanceof ProtobufError) throw refuse(error.message)
    throw error
  }
}

const readMessage = (
  envelope: Envelope,
  schemaName: string,
  said: GroupVersionKind,
  as: string,
): JsonValue => {
  try {
    return messageToJson(envelope, schemaName)
  } catch (error) {
    if (error instanceof ProtobufError) throw cannotBeHandled(said, error.message, as)
    throw error
  }
}

interface TypeCheck {
  unrecognized?: (message: string) => Error
  /** Other apiVersions that the kind may come in. */
  accepted?: readonly string[]
  trace?: JsonTrace | undefined
  valueAs?: ParsedBody['valueAs']
  /** The body as it came; a patched document has none. */
  body?: Buffer
  /** Takes what only strict decoding finds in an object of another version, which is told before its version. */
  reportStrict?: (errors: readonly string[], said: GroupVersionKind) => void
}

/** Go's `/` and `group/` name no version: as upstream's serializers, which then take that of the route. */
const namesNoVersion = (apiVersion: string, group: string): boolean =>
  apiVersion === '/' || apiVersion === `${group}/`

/** Of what has no Go type, keys are taken as they are written (apimachinery, unstructured). */
const asWritten = ({ kind, apiVersion }: JsonObject): TypeMeta => ({ kind, apiVersion }) as TypeMeta

/** The body's own kind and apiVersion, where it has them, must be those of the route. Yields what it names. Throws 400. */
export const checkType = (
  value: JsonValue,
  { gvk, isCustom }: ResourceDefinition,
  table: ResourceTable,
  {
    unrecognized = badRequest,
    accepted = [],
    body,
    trace,
    valueAs = () => value,
    reportStrict,
  }: TypeCheck = {},
): GroupVersionKind => {
  const text = () => (body === undefined ? stringify(value) : textOf(body))
  if (value === null) {
    if (isCustom && body !== undefined)
      throw unrecognized(`Object 'Kind' is missing in '${text()}'`)
    return gvk
  }
  if (!isJsonObject(value)) throw unrecognized(noObjectText(value))
  const expected = formatGroupVersion(gvk)
  const read = typeMetaOf(value, unrecognized, trace?.entries.get(value))
  const given = isCustom ? asWritten(value) : read
  if (given.kind === gvk.kind && given.apiVersion === expected) return gvk
  // Only built-in kinds may leave out what they are: without a Go type there is nothing to assume.
  if (isCustom && !given.kind) throw unrecognized(`Object 'Kind' is missing in '${text()}'`)
  if (isCustom && given.apiVersion === null)
    throw cannotBeHandled(
      { version: '', kind: gvk.kind },
      '.apiVersion accessor error: <nil> is of the type <nil>, expected string',
    )
  if (isCustom && !given.apiVersion)
    throw badRequest(
      `the API version in the data () does not match the expected API version (${expected})`,
    )
  const kind = given.kind || gvk.kind
  const isNone = !given.apiVersion || (!isCustom && namesNoVersion(given.apiVersion, gvk.group))
  const apiVersion = isNone ? expected : given.apiVersion!
  const gv = parseGroupVersion(apiVersion)
  if (kind === gvk.kind && accepted.includes(apiVersion)) return { ...gv!, kind }
  // `/v1` names the same version.
  if (kind === gvk.kind && gv !== undefined && formatGroupVersion(gv) === expected) return gvk
  if (gv === undefined) throw unrecognized(`unexpected GroupVersion string: ${apiVersion}`)
  // For custom resources another version is refused after decoding, another kind by validation.
  if (isCustom) return gvk
  const said = { ...gv, kind }
  if (gv.version === '')
    throw cannotBeHandled(said, `Object 'apiVersion' is missing in '${text()}'`, gvk.kind)
  const known = registeredKind(said, gvk.group, table)
  if (known === undefined)
    throw cannotBeHandled(said, noKindText(kind, formatGroupVersion(gv)), gvk.kind)
  const { schemaName, goPackage } = known
  // Upstream decodes the body as the kind that it names before it looks at the kind.
  const decoded =
    schemaName && decodeBuiltIn(said, schemaName, valueAs(said, schemaName), trace, gvk.kind)
  if (kind !== gvk.kind) throw noConversion(said, goPackage, gvk)
  reportStrict?.(decoded ? decoded.strictErrors : [], said)
  throw otherVersion(apiVersion, expected)
}

const noConversion = (said: GroupVersionKind, goPackage: string, gvk: GroupVersionKind): Error =>
  cannotBeHandled(
    said,
    `converting (${goPackage}.${said.kind}) to (${internalType(gvk.group, gvk.kind)}): unknown conversion`,
    gvk.kind,
  )

const otherVersion = (apiVersion: string, expected: string): Error =>
  badRequest(
    `the API version in the data (${apiVersion}) does not match the expected API version (${expected})`,
  )

/** Warns of errors that only strict decoding finds, or throws `refuse()`, as `fieldValidation` says. */
export const reportStrictErrors = (
  errors: readonly string[],
  fieldValidation: string,
  { warn }: Pick<RequestContext, 'warn'>,
  refuse: () => Error,
): void => {
  if (errors.length === 0) return
  const validation = fieldValidationOf(fieldValidation)
  if (validation === 'Warn') for (const error of errors) warn(error)
  if (validation === 'Strict') throw refuse()
}

interface DecodeOptions {
  readonly ctx: RequestContext
  readonly table: ResourceTable
  readonly fieldValidation: string
  readonly accepted?: readonly string[] | undefined
}

/** Throws 400 and 415. Unknown fields are warned of or refused, as `fieldValidation` says. */
export const decodeBody = (
  request: FastifyRequest,
  definition: ResourceDefinition,
  { ctx, table, fieldValidation, accepted }: DecodeOptions,
): KubeObject => {
  const mediaType = inputTypeOf(request)
  const body = bodyOf(request)
  const { kind } = definition.gvk
  const unrecognized = (message: string): Error =>
    badRequest(
      `the object provided is unrecognized (must be of type ${kind}): ${message} (${summarize(body)})`,
    )
  const parsed =
    mediaType === 'protobuf'
      ? parseProtobuf(body, definition, unrecognized)
      : parseText(request, mediaType, unrecognized)
  const reportStrict = (errors: readonly string[], gvk: GroupVersionKind): void =>
    reportStrictErrors([...parsed.textErrors, ...errors], fieldValidation, ctx, () =>
      cannotBeHandled(gvk, strictText(parsed.textErrors, errors)),
    )
  const said = checkType(parsed.value, definition, table, {
    reportStrict,
    unrecognized,
    accepted,
    body,
    trace: parsed.trace,
    valueAs: parsed.valueAs,
  })
  const value = parsed.valueAs?.(said, definition.schemaName!) ?? parsed.value
  const { object, strictErrors } = decodeObject(definition, value, parsed.trace, said)
  reportStrict(strictErrors, definition.isCustom ? saidGvk(parsed.value, definition.gvk) : said)
  if (!definition.isCustom) return object
  const expected = formatGroupVersion(definition.gvk)
  const { apiVersion = '' } = object
  if (apiVersion !== expected)
    throw otherVersion(formatGroupVersion(parseGroupVersion(apiVersion)!), expected)
  return object
}

/** Upstream's scheme of custom resources knows one Scale, and has this one text for any other. */
export const decodeScaleOfCustom = (
  request: FastifyRequest,
  definition: ResourceDefinition,
  options: DecodeOptions,
): KubeObject => {
  try {
    return decodeBody(request, definition, options)
  } catch (error) {
    if (!(error instanceof ApiError) || error.status.code !== 400) throw error
    throw badRequest(
      'no kind is registered for the type v1.Scale in scheme "pkg/runtime/scheme.go:111"',
    )
  }
}
