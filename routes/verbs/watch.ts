/**
 * Watch: the history behind a resourceVersion and then what happens, as frames on one response. A frame is made once for
 * all watchers of its form; a batch is one write; and a client that does not read stops us from pulling, so that what
 * waits for it is bounded by the socket and the shared history.
 */

import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { ApiError, failure, methodNotSupported, tooLargeResourceVersion } from '#api/errors.js'
import { stringify } from '#api/json.js'
import type { KubeObject } from '#api/object.js'
import type { Status } from '#api/status.js'
import type { ObjectEvent, ObjectEventBatch, Selection } from '#cacher/object-storage.js'
import { limits } from '#limits'
import { emptyObject } from '#registry/empty-object.js'
import { interpretStorageError } from '#registry/interpret-storage-error.js'
import { type ListRequest, requireVersion } from '#registry/list-options.js'
import type { Query } from '#registry/query.js'
import { makeTable, parseIncludeObject, partialObjectMetadata } from '#registry/table-printer.js'
import type { ApiDeps, Target } from '../api-deps.js'
import { type Negotiated, protobuf, streamNotAcceptable, streamTypeOf } from '../negotiation.js'
import { frameInProtobuf } from '../protobuf.js'
import { makeContext } from '../request-context.js'
import { bytesOf, inAlphabet, viewOf } from '../stored-json.js'

export interface WatchCall {
  readonly deps: ApiDeps
  readonly negotiated: Negotiated
  readonly options: ListRequest
  readonly selection: Selection
  readonly query: Query
}

const frameStarts: Readonly<Record<string, Buffer>> = {
  ADDED: Buffer.from('{"type":"ADDED","object":'),
  MODIFIED: Buffer.from('{"type":"MODIFIED","object":'),
  DELETED: Buffer.from('{"type":"DELETED","object":'),
}

/** `line` ends in the line end that the frame is to end in. */
const plainFrame = (type: string, line: Buffer): Buffer => {
  const start = frameStarts[type]!
  const frame = Buffer.allocUnsafeSlow(start.length + line.length + 1)
  start.copy(frame)
  line.copy(frame, start.length)
  frame.write('}\n', frame.length - 2)
  return frame
}

/**
 * Frames by what they show and form: `plain`, or the conversion with its version and resource. Watchers of one view
 * share their batches, so that the frames of a batch are put together once, too.
 */
const frames = new WeakMap<ObjectEvent | readonly ObjectEvent[], Map<string, Buffer>>()

const frameOf = (
  shown: ObjectEvent | readonly ObjectEvent[],
  form: string,
  make: () => Buffer,
): Buffer => {
  let forms = frames.get(shown)
  if (forms === undefined) {
    forms = new Map()
    frames.set(shown, forms)
  }
  let frame = forms.get(form)
  if (frame === undefined) {
    frame = make()
    forms.set(form, frame)
  }
  return frame
}

const initialEventsEnd = 'k8s.io/initial-events-end'

/** Turns events, bookmarks and errors into frames of one form. */
class FrameMaker {
  readonly #target: Target
  readonly #call: WatchCall
  readonly #now: () => number
  readonly #form: string
  readonly #inProtobuf: boolean
  #headerSent = false

  constructor(target: Target, call: WatchCall, now: () => number) {
    this.#target = target
    this.#call = call
    this.#now = now
    const { group, version } = target.definition.gvr
    const { convert, convertVersion, mediaType } = call.negotiated
    this.#inProtobuf = mediaType === protobuf
    this.#form = `${this.#inProtobuf ? 'protobuf ' : ''}${group}/${version} ${convert === undefined ? '' : `${convert} ${convertVersion}`}`
  }

  event(event: ObjectEvent): Buffer {
    const { convert } = this.#call.negotiated
    // The first row of a Table brings its header, and ages differ from second to second: rows are not shared.
    if (convert === 'Table')
      return this.#wrap(event.type, this.#table(viewOf(this.#target.definition, event.stored)))
    return frameOf(event, this.#form, () => {
      if (convert !== undefined)
        return this.#wrap(event.type, this.#partial(viewOf(this.#target.definition, event.stored)))
      if (this.#inProtobuf)
        return this.#wrap(event.type, viewOf(this.#target.definition, event.stored))
      return plainFrame(event.type, bytesOf(this.#target.definition, event.stored))
    })
  }

  events(events: readonly ObjectEvent[]): Buffer {
    const [first] = events
    if (events.length === 1) return this.event(first!)
    const join = () => Buffer.concat(events.map((event) => this.event(event)))
    return this.#call.negotiated.convert === 'Table' ? join() : frameOf(events, this.#form, join)
  }

  bookmark(revision: number, isInitialEventsEnd: boolean): Buffer {
    const object = emptyObject(this.#target.definition)
    object.metadata = {
      resourceVersion: String(revision),
      ...(isInitialEventsEnd ? { annotations: { [initialEventsEnd]: 'true' } } : {}),
    }
    const { convert } = this.#call.negotiated
    return this.#wrap(
      'BOOKMARK',
      convert === undefined
        ? this.#target.definition.isCustom && !this.#inProtobuf
          ? inAlphabet(object)
          : object
        : convert === 'Table'
          ? this.#table(object)
          : this.#partial(object),
    )
  }

  error(status: Status): Buffer {
    return this.#wrap('ERROR', status)
  }

  #wrap(type: string, object: unknown): Buffer {
    if (this.#inProtobuf) return frameInProtobuf(type, object)
    return Buffer.from(`{"type":"${type}","object":${stringify(object)}}\n`)
  }

  #partial(object: KubeObject): unknown {
    return partialObjectMetadata(
      object,
      this.#call.negotiated.convertVersion,
      this.#target.definition,
    )
  }

  #table(object: KubeObject): unknown {
    const columns = !this.#headerSent
    this.#headerSent = true
    const { resourceVersion } = object.metadata
    return makeTable(
      [object],
      resourceVersion === undefined ? {} : { resourceVersion },
      {
        definition: this.#target.definition,
        apiVersion: this.#call.negotiated.convertVersion,
        includeObject: parseIncludeObject(this.#call.query.text('includeObject')),
        now: this.#now(),
      },
      { columns },
    )
  }
}

const startOf = ({
  resourceVersion,
  sendInitialEvents,
}: ListRequest): { after: number | 'now' | 'any' } => {
  if (resourceVersion === '') return { after: sendInitialEvents === false ? 'now' : 'any' }
  const revision = requireVersion(resourceVersion)
  if (revision === 0 && sendInitialEvents !== false) return { after: 'any' }
  return { after: revision === 0 ? 'now' : revision }
}

const timeoutMsOf = ({ timeoutSeconds }: ListRequest): number =>
  timeoutSeconds !== undefined && timeoutSeconds > 0
    ? timeoutSeconds * 1000
    : limits.watchTimeoutMinMs + randomInt(limits.watchTimeoutMinMs)

const errorStatus = (error: unknown, target: Target, after: number | string): Status => {
  const refusal = interpretStorageError(error, {
    resource: target.definition.gvr,
    operation: 'watch',
    asked: typeof after === 'number' ? after : 0,
  })
  if (refusal instanceof ApiError) return refusal.status
  throw refusal
}

/** A negative time is over before it begins, and upstream says so on the stream. */
const deadlineExceeded = () =>
  failure({ code: 500, reason: 'InternalError', message: 'context deadline exceeded' })

// setTimeout takes no more than this; a longer watch ends early, as any watch may.
const timerMsMax = 2 ** 31 - 1

const isShown = (batch: ObjectEventBatch, { allowWatchBookmarks }: ListRequest): boolean =>
  batch.events.length > 0 || allowWatchBookmarks

const writeBatch = (
  response: ServerResponse,
  maker: FrameMaker,
  batch: ObjectEventBatch,
  bookmarks: boolean,
): boolean => {
  const parts = batch.events.length === 0 ? [] : [maker.events(batch.events)]
  const isEnd = batch.initialEventsEnd === true
  if (bookmarks && (isEnd || batch.events.length === 0))
    parts.push(maker.bookmark(batch.revision, isEnd))
  if (parts.length === 0) return true
  return response.write(parts.length === 1 ? parts[0]! : Buffer.concat(parts))
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

/** Throws before the stream is opened: 406, 500. */
export const serveWatch = async (
  target: Target,
  request: FastifyRequest,
  reply: FastifyReply,
  call: WatchCall,
): Promise<unknown> => {
  const { options, negotiated, selection, deps } = call
  if (!target.definition.verbs.includes('watch'))
    throw methodNotSupported(target.definition.gvr, 'watch')
  const start = startOf(options)
  parseIncludeObject(negotiated.convert === 'Table' ? call.query.text('includeObject') : '')
  if (!negotiated.streams) throw streamNotAcceptable()
  const ctx = makeContext(target, request, reply, deps)
  const abort = new AbortController()
  const stop = (): void => abort.abort()
  const timeoutMs = Math.min(timeoutMsOf(options), timerMsMax)
  const timer = setTimeout(stop, timeoutMs)
  const response = reply.raw
  // Of the client that left, and of the server that shuts down.
  const gone = request.kube.signal
  if (gone.aborted) stop()
  else gone.addEventListener('abort', stop, { once: true })
  const unfollow = stopWithDefinition(target, deps, stop)
  reply.hijack()
  const headers = { ...reply.getHeaders(), 'content-type': streamTypeOf(negotiated) }
  response.writeHead(200, headers as Record<string, string>)
  response.flushHeaders()
  const maker = new FrameMaker(target, call, () => deps.clock.now())
  let begun = false
  let failed = false
  try {
    if ((options.timeoutSeconds ?? 0) < 0) throw deadlineExceeded()
    const events = target.store.watch(ctx, {
      selection,
      after: start.after,
      sendInitialEvents: options.sendInitialEvents === true,
      deadline: deps.clock.now() + timeoutMs,
      signal: abort.signal,
    })
    for await (const batch of events) {
      if (abort.signal.aborted) break
      begun = true
      // No single object is a list: upstream fails at the first frame and ends the stream without a word.
      if (negotiated.convert === 'PartialObjectMetadataList' && isShown(batch, options)) break
      if (!writeBatch(response, maker, batch, options.allowWatchBookmarks))
        await once(response, 'drain', { signal: abort.signal })
    }
  } catch (error) {
    if (!abort.signal.aborted) {
      failed = true
      response.write(maker.error(errorStatus(error, target, start.after)))
    }
  } finally {
    // A list that was to begin with a version from the future ends with that error, even if its time was too short.
    const waited = options.sendInitialEvents === true && typeof start.after === 'number'
    if (waited && !begun && !response.destroyed && !response.writableEnded && !failed)
      response.write(maker.error(tooLargeResourceVersion(Number(start.after), 0, 1).status))
    clearTimeout(timer)
    unfollow()
    gone.removeEventListener('abort', stop)
    abort.abort()
    response.end()
  }
  return reply
}
