/**
 * Watch: the history behind a resourceVersion and then what happens, as frames on one response. A frame is made once for
 * all watchers of its form; a batch is one write; and a client that does not read stops us from pulling, so that what
 * waits for it is bounded by the socket and the shared history.
 */

import { randomInt } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { ApiError, methodNotSupported } from '#api/errors.js'
import type { ObjectEventBatch, Selection } from '#cacher/object-storage.js'
import { limits } from '#limits'
import { interpretStorageError } from '#registry/interpret-storage-error.js'
import { type ListRequest, requireVersion } from '#registry/list-options.js'
import type { Query } from '#registry/query.js'
import type { RequestContext } from '#registry/resource-definition.js'
import { parseIncludeObject } from '#registry/table-printer.js'
import type { ApiDeps, Target } from '../api-deps.js'
import { type Negotiated, streamNotAcceptable, streamTypeOf } from '../negotiation.js'
import { makeContext } from '../request-context.js'
import { FrameMaker, FrameStream } from './watch-frames.js'

export interface WatchCall {
  readonly deps: ApiDeps
  readonly negotiated: Negotiated
  readonly options: ListRequest
  readonly selection: Selection
  readonly query: Query
}

const startOf = ({ resourceVersion, sendInitialEvents }: ListRequest): number | 'now' | 'any' => {
  if (resourceVersion === '') return sendInitialEvents === false ? 'now' : 'any'
  const revision = requireVersion(resourceVersion)
  if (revision === 0) return sendInitialEvents === false ? 'now' : 'any'
  return revision
}

const timeoutMsOf = ({ timeoutSeconds }: ListRequest): number =>
  timeoutSeconds !== undefined && timeoutSeconds > 0
    ? timeoutSeconds * 1000
    : limits.watchTimeoutMinMs + randomInt(limits.watchTimeoutMinMs)

const refusalOf = (error: unknown, target: Target, after: number | string): Error =>
  interpretStorageError(error, {
    resource: target.definition.gvr,
    operation: 'watch',
    asked: typeof after === 'number' ? after : 0,
  })

const isShown = (batch: ObjectEventBatch, { allowWatchBookmarks }: ListRequest): boolean =>
  batch.events.length > 0 || allowWatchBookmarks

const writeBatch = (
  stream: FrameStream,
  maker: FrameMaker,
  batch: ObjectEventBatch,
  bookmarks: boolean,
): void => {
  const { events, isInitial } = batch
  const parts = []
  if (events.length > 0) parts.push(isInitial ? maker.initialEvents(events) : maker.events(events))
  const isEnd = batch.initialEventsEnd === true
  if (bookmarks && (isEnd || batch.events.length === 0))
    parts.push(maker.bookmark(batch.revision, isEnd))
  if (parts.length > 0) stream.write(parts.length === 1 ? parts[0]! : Buffer.concat(parts))
}

/** A moment for the events of the last objects, which went just before their definition. */
const lastEventsMs = 100

/** A custom resource definition that goes takes the watches of its objects along. */
const stopWithDefinition = (
  { definition }: Target,
  { table }: ApiDeps,
  stop: () => void,
): (() => void) => {
  if (!definition.isCustom) return () => {}
  const { group, version, resource } = definition.gvr
  return table.onChange(({ type, definition: { gvr } }) => {
    const same = gvr.group === group && gvr.version === version && gvr.resource === resource
    if (type === 'removed' && same) setTimeout(stop, lastEventsMs)
  })
}

interface OpenWatch {
  readonly target: Target
  readonly ctx: RequestContext
  readonly call: WatchCall
  readonly stream: FrameStream
  readonly maker: FrameMaker
  readonly after: number | 'now' | 'any'
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

/** Writes what happens, or the error that it ends with, until the signal fires. */
const writeEvents = async ({
  target,
  ctx,
  call: { negotiated, options, selection },
  stream,
  maker,
  after,
  timeoutMs,
  signal,
}: OpenWatch): Promise<void> => {
  // A negative time is over before it begins.
  if ((options.timeoutSeconds ?? 0) < 0) return
  try {
    const sendInitialEvents = options.sendInitialEvents === true
    const watch = { selection, after, sendInitialEvents, timeoutMs, signal }
    const batches = target.store.watch(ctx, watch)[Symbol.asyncIterator]()
    // A function's own: `for await` would hold the last batch, and all that it shows, for as long as nothing happens.
    const writeNext = async (): Promise<boolean> => {
      const { done, value: batch } = await batches.next()
      if (done === true || signal.aborted) return false
      // No single object is a list: upstream fails at the first frame and ends the stream without a word.
      if (negotiated.convert === 'PartialObjectMetadataList' && isShown(batch, options))
        return false
      writeBatch(stream, maker, batch, options.allowWatchBookmarks)
      return true
    }
    try {
      while (await writeNext()) {
        const drained = stream.drained(signal)
        if (drained !== undefined) await drained
      }
    } finally {
      await batches.return?.()
    }
  } catch (error) {
    // A list that was to begin with a version from the future ends with that error, even if its time was too short.
    const refusal = refusalOf(error, target, after)
    const isTooNew = refusal instanceof ApiError && refusal.code === 504
    if (signal.aborted && !(isTooNew && stream.isOpen)) return
    if (!(refusal instanceof ApiError)) throw refusal
    stream.write(maker.error(refusal.status))
  }
}

/** A function's own: the headers need not be held for as long as the watch goes on. */
const openStream = (reply: FastifyReply, negotiated: Negotiated): FrameStream => {
  const { raw } = reply.hijack()
  const headers = { ...reply.getHeaders(), 'content-type': streamTypeOf(negotiated) }
  raw.writeHead(200, headers as Record<string, string>)
  raw.flushHeaders()
  return new FrameStream(raw)
}

/** Made once: an error of its own for each watch would cost its stack. */
const ended = new Error('the watch has ended')

/** Throws before the stream is opened: 406, 500. */
export const serveWatch = async (
  target: Target,
  request: FastifyRequest,
  reply: FastifyReply,
  call: WatchCall,
): Promise<unknown> => {
  const { options, negotiated, deps } = call
  if (!target.definition.verbs.includes('watch'))
    throw methodNotSupported(target.definition.gvr, 'watch')
  const after = startOf(options)
  parseIncludeObject(negotiated.convert === 'Table' ? call.query.text('includeObject') : '')
  if (!negotiated.streams) throw streamNotAcceptable()
  const ctx = makeContext(target, request, reply, deps)
  const { kube } = request
  // Of the client that left, of the server that shuts down, and of our own end.
  const { signal } = kube
  const stop = (): void => kube.abort(ended)
  const timeoutMs = Math.min(timeoutMsOf(options), limits.timerMsMax)
  const timer = setTimeout(stop, timeoutMs)
  const unfollow = stopWithDefinition(target, deps, stop)
  const stream = openStream(reply, negotiated)
  const maker = new FrameMaker(target, {
    negotiated,
    includeObject: call.query.text('includeObject'),
    asChunks: stream.takesChunks,
    now: () => deps.clock.now(),
  })
  try {
    await writeEvents({ target, ctx, call, stream, maker, after, timeoutMs, signal })
  } finally {
    clearTimeout(timer)
    unfollow()
    stop()
    reply.raw.end()
  }
  return reply
}
