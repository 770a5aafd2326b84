/**
 * Watch: the history behind a resourceVersion and then what happens, as frames on one response. A frame is made once for
 * all watchers of its form; a batch is one write; and a client that does not read stops us from pulling, so that what
 * waits for it is bounded by the socket and the shared history.
 */

import { randomInt } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { ApiError, methodNotSupported } from '#api/errors.js'
import { whenKnown } from '#async/when-known.js'
import type { ObjectEvent, ObjectEventBatch, Selection } from '#cacher/object-storage.js'
import { limits } from '#limits'
import { offeredProtocols } from '#net/websocket-request.js'
import { failingWatch } from '#registry/failing-watch.js'
import { interpretStorageError } from '#registry/interpret-storage-error.js'
import { type ListRequest, requireVersion } from '#registry/list-options.js'
import type { ResourceDefinition } from '#registry/resource-definition.js'
import { parseIncludeObject } from '#registry/table-printer.js'
import { type Negotiated, streamNotAcceptable, streamTypeOf } from '../answers/negotiation.js'
import type { ApiDeps, Target } from '../api-deps.js'
import type { Upgrade } from '../forward.js'
import { acceptMessages, webSocketOf } from '../websocket.js'
import { endEarly } from './watch-end.js'
import { FrameMaker } from './watch-frames.js'
import { WatchMessages, WatchResponse, type WatchStream } from './watch-streams.js'

export interface WatchCall {
  readonly deps: ApiDeps
  readonly negotiated: Negotiated
  readonly options: ListRequest
  readonly selection: Selection
  /** The `includeObject` parameter, for Tables. */
  readonly includeObject: string
}

/**
 * Without a version it begins with what the store has now, which the cache may not have yet; on the old paths with what the
 * cache has (cacher.go getWatchCacheResourceVersion).
 */
const startOf = ({ resourceVersion, sendInitialEvents }: ListRequest): number | 'now' | 'any' => {
  if (resourceVersion === '') return sendInitialEvents === undefined ? 'any' : 'now'
  const revision = requireVersion(resourceVersion)
  if (revision === 0) return sendInitialEvents === false ? 'now' : 'any'
  return revision
}

const timeoutMsOf = ({ timeoutSeconds }: ListRequest, minMs: number): number =>
  timeoutSeconds !== undefined && timeoutSeconds > 0
    ? timeoutSeconds * 1000
    : minMs + randomInt(minMs + 1)

/**
 * What a watch holds as long as it lasts. There may be thousands of idle ones, so it keeps nothing that only the
 * beginning needs.
 */
interface OpenWatch {
  readonly definition: ResourceDefinition
  readonly batches: AsyncIterator<ObjectEventBatch>
  readonly stream: WatchStream
  readonly maker: FrameMaker
  readonly bookmarks: boolean
  /** PartialObjectMetadataList was asked for. */
  readonly wantsLists: boolean
  readonly after: number | 'now' | 'any'
  readonly signal: AbortSignal
  /** Given back when the initial events have been sent. */
  readonly seat: FastifyRequest['kube']['seat']
  end(): void
}

const refusalOf = (error: unknown, { definition, after }: OpenWatch): Error =>
  interpretStorageError(error, {
    resource: definition.gvr,
    operation: 'watch',
    asked: typeof after === 'number' ? after : 0,
  })

const writeBatch = (
  { stream, maker, bookmarks, seat }: OpenWatch,
  { events, isInitial, initialEventsEnd, revision }: ObjectEventBatch,
): void => {
  const parts = []
  const frame = (some: readonly ObjectEvent[]): Buffer =>
    isInitial ? maker.initialEvents(some) : maker.events(some)
  if (stream.sendsMessages) for (const event of events) parts.push(frame([event]))
  else if (events.length > 0) parts.push(frame(events))
  const isEnd = initialEventsEnd === true
  if (isEnd) seat?.leave(performance.now())
  if (bookmarks && (isEnd || events.length === 0)) parts.push(maker.bookmark(revision, isEnd))
  if (parts.length > 0) stream.write(parts)
}

/** Watches on a definition that was deleted or replaced go on for this long (apiextensions, customresource_handler.go). */
const tearDownMs = 1_000

const nothing = (): void => {}

/** Ends the watch when its custom resource definition is deleted or replaced. */
const stopWithDefinition = (
  { definition }: Target,
  { table }: ApiDeps,
  stop: () => void,
): (() => void) => {
  if (!definition.isCustom) return nothing
  const { group, version, resource } = definition.gvr
  return table.onChange(({ type, definition: { gvr } }) => {
    const same = gvr.group === group && gvr.version === version && gvr.resource === resource
    if (type === 'removed' && same) setTimeout(stop, tearDownMs).unref()
  })
}

/** Writes events until the signal fires, or until an error ends the watch, which is written too. */
const writeEvents = async (watch: OpenWatch): Promise<void> => {
  const { batches, stream, signal } = watch
  // A function, so that its variables go: `for await` would hold the last batch and its objects until the next one comes.
  const write = ({ done, value: batch }: IteratorResult<ObjectEventBatch>): boolean => {
    if (done === true || signal.aborted) return false
    // Events are not lists: upstream fails at the first frame and ends the stream without an error.
    if (watch.wantsLists && (batch.events.length > 0 || watch.bookmarks)) return false
    writeBatch(watch, batch)
    return true
  }
  try {
    try {
      while (await batches.next().then(write)) {
        const drained = stream.drained(signal)
        if (drained !== undefined) await drained
      }
    } finally {
      await batches.return?.()
    }
  } catch (error) {
    // A watch with initial events that waits for a future resourceVersion gets that error even if its own time is over.
    const refusal = refusalOf(error, watch)
    const isTooNew = refusal instanceof ApiError && refusal.code === 504
    if (signal.aborted && !(isTooNew && stream.isOpen)) return
    if (!(refusal instanceof ApiError)) throw refusal
    stream.write([watch.maker.error(refusal.status)])
  } finally {
    watch.end()
  }
}

/** A function, so that the headers are not held as long as the watch lasts. */
const openStream = (reply: FastifyReply, negotiated: Negotiated): WatchStream => {
  const { raw } = reply.hijack()
  const headers = { ...reply.getHeaders(), 'content-type': streamTypeOf(negotiated) }
  raw.writeHead(200, headers as Record<string, string>)
  raw.flushHeaders()
  return new WatchResponse(raw)
}

/**
 * Over WebSocket a client must send an Origin, as golang.org/x/net/websocket requires, and may offer one protocol at
 * most. Undefined when it was refused.
 */
const openMessages = (
  request: FastifyRequest,
  reply: FastifyReply,
  negotiated: Negotiated,
  upgrade: Upgrade,
): WatchStream | undefined => {
  const webSocket = acceptMessages(request, reply, upgrade, (headers) => {
    if (!URL.canParse(headers.origin ?? '')) return 403
    return offeredProtocols(headers).length > 1 ? 400 : undefined
  })
  return webSocket && new WatchMessages(webSocket, upgrade, negotiated)
}

/** Made once: an error for each watch would cost a stack trace. */
const ended = new Error('the watch has ended')

/** Throws before the stream is opened: 406, 429, 500. */
export const serveWatch = (
  target: Target,
  request: FastifyRequest,
  reply: FastifyReply,
  call: WatchCall,
): void | Promise<void> => {
  const { definition } = target
  const { options, negotiated, includeObject } = call
  if (!definition.verbs.includes('watch')) throw methodNotSupported(definition.gvr, 'watch')
  const after = startOf(options)
  parseIncludeObject(negotiated.convert === 'Table' ? includeObject : '')
  if (!negotiated.streams) throw streamNotAcceptable()
  return whenKnown(target.store.notReady(), (refusal) => {
    if (refusal !== undefined) throw refusal
    return whenKnown(failureToReach(target, options, after), (failure) =>
      openWatch(target, request, reply, { ...call, after, failure }),
    )
  })
}

/**
 * A watch with initial events waits for its resourceVersion before its client hears anything (apiserver, cacher.go, Watch).
 * Yields what it fails with, if so.
 */
const failureToReach = (
  { store }: Target,
  { sendInitialEvents }: ListRequest,
  after: ReturnType<typeof startOf>,
): Promise<unknown> | undefined =>
  sendInitialEvents === true && typeof after === 'number'
    ? store.whenReached(after)?.then(nothing, (error: unknown) => error)
    : undefined

const openWatch = (
  target: Target,
  request: FastifyRequest,
  reply: FastifyReply,
  {
    options,
    negotiated,
    deps,
    selection,
    includeObject,
    after,
    failure,
  }: WatchCall & { after: ReturnType<typeof startOf>; failure: unknown },
): Promise<void> | undefined => {
  const { definition } = target
  const { kube } = request
  // Fires when the client leaves, the server shuts down, or the watch ends by itself.
  const { signal } = kube
  const upgrade = webSocketOf(request, deps)
  const stream =
    upgrade === undefined
      ? openStream(reply, negotiated)
      : openMessages(request, reply, negotiated, upgrade)
  if (stream === undefined) return undefined
  // With a negative timeout it ends at once.
  if ((options.timeoutSeconds ?? 0) < 0) {
    stream.end()
    return undefined
  }
  const stop = (): void => kube.abort(ended)
  const timeoutMs = Math.min(timeoutMsOf(options, deps.watchTimeoutMinMs), limits.timerMsMax)
  const timer = setTimeout(stop, timeoutMs)
  const unfollow = stopWithDefinition(target, deps, stop)
  const sendInitialEvents = options.sendInitialEvents === true
  const watch = { selection, after, sendInitialEvents, timeoutMs, signal }
  if (!sendInitialEvents) kube.seat?.leave(performance.now())
  const begun = failure === undefined ? target.store.watch(watch) : failingWatch(failure)
  const batches = begun[Symbol.asyncIterator]()
  return writeEvents({
    definition,
    batches: kube.watchEnd === undefined ? batches : endEarly(batches, kube.watchEnd),
    stream,
    maker: new FrameMaker(target, {
      negotiated,
      includeObject,
      asChunks: stream.takesChunks,
      clock: deps.clock,
    }),
    bookmarks: options.allowWatchBookmarks,
    wantsLists: negotiated.convert === 'PartialObjectMetadataList',
    after,
    signal,
    seat: kube.seat,
    end: () => {
      clearTimeout(timer)
      unfollow()
      stop()
      stream.end()
    },
  })
}
