/** ListOptions: decoded from the query, defaulted and validated as upstream does (meta/internalversion). */

import { type ApiError, badRequest, failure, invalid as invalidObject } from '#api/errors.js'
import { type FieldError, forbidden, notSupported, shownAsJson } from '#api/field-error.js'
import type { GroupResource } from '#api/group-version.js'
import {
  type FieldRequirement,
  type LabelRequirement,
  parseFieldSelector,
  parseLabelSelector,
  SelectorError,
} from '#api/selectors.js'
import type { ReadConsistency, Selection } from '#cacher/object-storage.js'
import { goQuote } from '#go/quote.js'
import { decodeContinue } from './continue-token.js'
import { hasCache } from './interpret-storage-error.js'
import type { Query } from './query.js'
import { parseResourceVersion, parseUintMessage } from './resource-version.js'

export interface ListRequest {
  readonly labels: readonly LabelRequirement[]
  readonly fields: readonly FieldRequirement[]
  readonly watch: boolean
  readonly allowWatchBookmarks: boolean
  readonly resourceVersion: string
  readonly resourceVersionMatch: string
  readonly timeoutSeconds: number | undefined
  readonly limit: number
  readonly continueToken: string
  readonly sendInitialEvents: boolean | undefined
}

const parseSelector = <T>(text: string, parse: (text: string) => T): T => {
  try {
    return parse(text)
  } catch (error) {
    if (error instanceof SelectorError) throw badRequest(error.message)
    throw error
  }
}

/** A watch from nowhere or from 0 begins with the current state, as if it had asked for it (SetListOptionsDefaults). */
const withDefaults = (options: ListRequest): ListRequest => {
  const { watch, resourceVersion, resourceVersionMatch, sendInitialEvents } = options
  const fromStart = resourceVersion === '' || resourceVersion === '0'
  if (!watch || !fromStart || sendInitialEvents !== undefined || resourceVersionMatch !== '')
    return options
  return { ...options, sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' }
}

const matchField = 'resourceVersionMatch'
const notMatched = (match: string, values: readonly string[]): FieldError =>
  shownAsJson(notSupported(matchField, match, values))
const forbiddenWithContinue = forbidden(
  matchField,
  'resourceVersionMatch is forbidden when continue is provided',
)

const validateWatch = (options: ListRequest): FieldError[] => {
  const match = options.resourceVersionMatch
  const errors: FieldError[] = []
  if (options.sendInitialEvents !== undefined && match !== 'NotOlderThan')
    errors.push(
      forbidden(
        matchField,
        'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan',
      ),
    )
  if (match === '') return errors
  if (options.sendInitialEvents === undefined)
    errors.push(
      forbidden(
        matchField,
        'resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided',
      ),
    )
  if (match !== 'NotOlderThan') errors.push(notMatched(match, ['NotOlderThan']))
  if (options.continueToken !== '') errors.push(forbiddenWithContinue)
  return errors
}

const validateList = (options: ListRequest): FieldError[] => {
  const match = options.resourceVersionMatch
  const errors: FieldError[] = []
  if (match !== '') {
    if (options.resourceVersion === '')
      errors.push(
        forbidden(
          matchField,
          'resourceVersionMatch is forbidden unless resourceVersion is provided',
        ),
      )
    if (options.continueToken !== '') errors.push(forbiddenWithContinue)
    if (match !== 'Exact' && match !== 'NotOlderThan')
      errors.push(notMatched(match, ['Exact', 'NotOlderThan', '']))
    if (match === 'Exact' && options.resourceVersion === '0')
      errors.push(
        forbidden(matchField, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'),
      )
  }
  if (options.sendInitialEvents !== undefined)
    errors.push(forbidden('sendInitialEvents', 'sendInitialEvents is forbidden for list'))
  return errors
}

/** Throws 400 for what cannot be read, 422 for what makes no sense. `watch` true: the path says so. */
export const decodeListOptions = (query: Query, { watch = false } = {}): ListRequest => {
  const timeoutSeconds = query.integerIfGiven('timeoutSeconds')
  const limit = query.integerIfGiven('limit') ?? 0
  const options = withDefaults({
    timeoutSeconds,
    limit: Math.max(limit, 0),
    labels: parseSelector(query.text('labelSelector'), parseLabelSelector),
    fields: parseSelector(query.text('fieldSelector'), parseFieldSelector),
    watch: query.flag('watch'),
    allowWatchBookmarks: query.flag('allowWatchBookmarks'),
    resourceVersion: query.text('resourceVersion'),
    resourceVersionMatch: query.text('resourceVersionMatch'),
    continueToken: query.text('continue'),
    sendInitialEvents: query.flagIfGiven('sendInitialEvents'),
  })
  const errors = options.watch ? validateWatch(options) : validateList(options)
  if (errors.length > 0)
    throw invalidObject({ group: 'meta.k8s.io', kind: 'ListOptions' }, '', errors)
  return watch ? { ...options, watch } : options
}

const versionMessage = (text: string): string =>
  `resourceVersion: Invalid value: ${goQuote(text)}: ${parseUintMessage(text)}`

const unreadVersion = (text: string): ApiError =>
  badRequest(`invalid resource version: ${versionMessage(text)}`)

/** For get and watch: a bad version is a 500 without a reason, but for a get that no cache answers. */
export const requireVersion = (text: string, got?: GroupResource): number => {
  const revision = parseResourceVersion(text)
  if (revision !== undefined) return revision
  if (got !== undefined && !hasCache(got)) throw unreadVersion(text)
  throw failure({ code: 500, message: versionMessage(text) })
}

export interface ListPosition {
  readonly consistency: ReadConsistency
  readonly startKey?: string
  /** Of a page: 0 is all there is. */
  readonly limit: number
}

/** Which state a list of this resource shows, where it starts and how long it is. Throws 400. */
export const listPosition = (
  options: ListRequest,
  { prefix, key }: Pick<Selection, 'prefix' | 'key'>,
  listed: GroupResource,
): ListPosition => {
  const { resourceVersion, resourceVersionMatch, continueToken, limit } = options
  // What is at hand is shown whole: upstream's watch cache knows no pages then. It compares the text: "00" is no "0".
  const isAtHand = resourceVersion === '0' && hasCache(listed)
  if (continueToken !== '') {
    const token = decodeContinue(continueToken, prefix)
    if (resourceVersion !== '' && resourceVersion !== '0')
      throw badRequest('specifying resource version is not allowed when using continue')
    const consistency: ReadConsistency =
      token.revision < 0 ? { kind: 'consistent' } : { kind: 'exact', revision: token.revision }
    return { consistency, startKey: token.startKey, limit: isAtHand ? 0 : limit }
  }
  if (resourceVersion === '') return { consistency: { kind: 'consistent' }, limit }
  const revision = parseResourceVersion(resourceVersion)
  if (revision === undefined) throw unreadVersion(resourceVersion)
  if (revision === 0) return { consistency: { kind: 'any' }, limit: isAtHand ? 0 : limit }
  // A limit with a version but without a match means that version, as before resourceVersionMatch existed: of a range of
  // objects, not of the one that a name chooses (apiserver, storage/util.go ValidateListOptions).
  const isPaged = limit > 0 && key === undefined
  const exact = resourceVersionMatch === 'Exact' || (resourceVersionMatch === '' && isPaged)
  return { consistency: { kind: exact ? 'exact' : 'notOlderThan', revision }, limit }
}
