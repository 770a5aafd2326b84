/** Conversion of custom resources by a webhook (apiextensions, conversion/webhook_converter.go). */
import { randomUUID } from 'node:crypto'
import { goKindOf } from '#api/decoder-texts.js'
import { ApiError, aggregateMessage, failure } from '#api/errors.js'
import type { KubeObject, ObjectMeta } from '#api/object.js'
import { goQuote } from '#go/quote.js'
import { cloneJson, isJsonObject, jsonEqual } from '#json/object.js'
import type { JsonObject, JsonValue } from '#json/value.js'
import { limits } from '#limits'
import { goTypeOf } from '#registry/go-print.js'
import { validateAnnotations, validateLabels } from '#registry/validate-object-meta.js'
import { type ReviewCall, sendReview, type WebhookClientConfig } from '#webhook/webhook-client.js'
import type { CustomResourceDefinition } from './definition/definition.js'

/** Yields a private object in the version that is asked for. Throws an ApiError. */
export type Converter = (object: KubeObject, apiVersion: string) => Promise<KubeObject>

/** Upstream's deadline is the HTTP client's timeout, which Go names in the error. */
const ofClient = ' (Client.Timeout exceeded while awaiting headers)'

interface ConversionAnswer {
  readonly uid?: string
  readonly result?: { readonly status?: string; readonly message?: string }
  readonly convertedObjects?: readonly JsonValue[]
}

const versionOf = (apiVersion: string): string => apiVersion.slice(apiVersion.indexOf('/') + 1)

const objectsOf = (
  answer: JsonObject,
  { uid, version }: { uid: string; version: string },
): readonly JsonValue[] => {
  const wanted = `apiextensions.k8s.io/${version}, Kind=ConversionReview`
  const given = `${answer.apiVersion ?? '/'}, Kind=${answer.kind ?? ''}`
  if (given !== wanted)
    throw new Error(`failed: expected webhook response of ${wanted}, got ${given}`)
  const response = answer.response as ConversionAnswer | undefined
  if (response === undefined) throw new Error('failed: no response provided')
  if (version === 'v1' && response.uid !== uid)
    throw new Error(
      `failed: expected response.uid=${goQuote(uid)}, got ${goQuote(response.uid ?? '')}`,
    )
  const { status = '', message = '' } = response.result ?? {}
  if (status !== 'Success')
    throw new Error(`failed: ${message || `response.result.status was '${status}', not 'Success'`}`)
  return response.convertedObjects ?? []
}

/** Errors about a value that is not an object name no object. */
const decodedObject = (value: JsonValue): KubeObject => {
  if (isJsonObject(value)) return value as unknown as KubeObject
  const message =
    value === null
      ? 'unexpected end of JSON input'
      : `json: cannot unmarshal ${goKindOf(value)} into Go value of type map[string]interface {}`
  throw failure({ code: 500, message })
}

/** What identifies an object must not change. */
const checkIdentity = (given: KubeObject, converted: KubeObject): void => {
  const meta = isJsonObject(converted.metadata) ? converted.metadata : {}
  for (const [field, said] of [
    ['name', 'name'],
    ['namespace', 'namespace'],
    ['uid', 'UID'],
  ] as const) {
    const had = given.metadata?.[field] ?? ''
    const has = meta[field] ?? ''
    if (had !== has)
      throw new Error(`returned invalid object: must have the same ${said}: ${had} != ${has}`)
  }
}

/** A webhook may change only labels and annotations of the metadata. */
const restoreMetadata = (given: KubeObject, converted: KubeObject): ObjectMeta => {
  const invalid = (why: string) => new Error(`returned invalid metadata: ${why}`)
  const said = converted.metadata as JsonValue | undefined
  if (said === undefined) throw invalid('missing metadata in converted object')
  if (!isJsonObject(said))
    throw invalid(`invalid metadata of type ${goTypeOf(said)} in converted object`)
  // Field owners also convert objects without metadata.
  const metadata: ObjectMeta = cloneJson(given.metadata ?? {})
  for (const field of ['labels', 'annotations'] as const) {
    const wanted = said[field]
    if (wanted === undefined || wanted === null) {
      delete metadata[field]
      continue
    }
    if (!isJsonObject(wanted))
      throw invalid(`invalid metadata.${field} of type ${goTypeOf(wanted)} in converted object`)
    for (const [key, value] of Object.entries(wanted))
      if (typeof value !== 'string')
        throw invalid(
          `metadata.${field}[${key}] must be a string, but is ${value === null ? '<nil>' : goTypeOf(value)} in converted object`,
        )
    const map = wanted as Record<string, string>
    if (!jsonEqual(map, metadata[field] ?? {})) {
      const errors =
        field === 'labels'
          ? validateLabels(map, 'metadata.labels')
          : validateAnnotations(map, 'metadata.annotation')
      if (errors.length > 0) throw invalid(aggregateMessage(errors))
    }
    metadata[field] = map
  }
  return metadata
}

/** The empty object before a create, which is not sent to a webhook. */
const isEmpty = (object: KubeObject): boolean =>
  Object.keys(object).every((field) => field === 'apiVersion' || field === 'kind')

export const webhookConverter = (
  { spec }: CustomResourceDefinition,
  access: Pick<ReviewCall, 'findService' | 'agent'>,
): Converter => {
  const { webhook } = spec.conversion!
  const version = webhook?.conversionReviewVersions?.find((v) => v === 'v1' || v === 'v1beta1')
  const config = (webhook?.clientConfig ?? {}) as WebhookClientConfig

  const ask = async (object: KubeObject, desired: string): Promise<KubeObject> => {
    if (version === undefined) throw new Error('failed: no supported conversion review versions')
    const uid = randomUUID()
    const request = { uid, desiredAPIVersion: desired, objects: [object] }
    const answer = await sendReview(config, {
      group: 'apiextensions.k8s.io',
      kind: 'ConversionReview',
      review: { kind: 'ConversionReview', apiVersion: `apiextensions.k8s.io/${version}`, request },
      timeoutSeconds: limits.conversionTimeoutSeconds,
      signal: AbortSignal.timeout(limits.conversionTimeoutSeconds * 1_000),
      ...access,
    }).catch((error: Error) => {
      throw new Error(
        `failed: ${error.message.replace(/: context deadline exceeded$/, `$&${ofClient}`)}`,
      )
    })
    const objects = objectsOf(answer, { uid, version })
    if (objects.length !== 1) throw new Error(`returned ${objects.length} objects, expected 1`)
    const converted = decodedObject(objects[0]!)
    const wrong = (what: string, expected: string, received: unknown) =>
      new Error(
        `returned invalid object at index 0: invalid ${what} (expected ${expected}, received ${String(received ?? '')})`,
      )
    if (converted?.apiVersion !== desired)
      throw wrong('groupVersion', desired, converted?.apiVersion)
    if (converted.kind !== object.kind) throw wrong('kind', object.kind, converted.kind)
    checkIdentity(object, converted)
    return { ...converted, metadata: restoreMetadata(object, converted) }
  }

  return async (object, desired) => {
    if (object.apiVersion === desired) return object
    if (isEmpty(object)) return { ...object, apiVersion: desired }
    try {
      return await ask(object, desired)
    } catch (error) {
      if (error instanceof ApiError) throw error
      const from = `${spec.group}/${versionOf(object.apiVersion ?? '')}, Kind=${object.kind ?? ''}`
      const message = `conversion webhook for ${from} ${(error as Error).message}`
      throw failure({ code: 500, message })
    }
  }
}
