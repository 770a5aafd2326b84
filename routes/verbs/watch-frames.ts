/** Frames of a watch: made once for all watchers of their form, as the chunks of HTTP/1.1 that most are sent as. */
import type { Clock } from '#api/clock.js'
import type { KubeObject } from '#api/object.js'
import type { Status } from '#api/status.js'
import type { ObjectEvent } from '#cacher/object-storage.js'
import type { Copyable } from '#cacher/object-text.js'
import { stringify } from '#json/json.js'
import type { JsonObject } from '#json/value.js'
import { limits } from '#limits'
import { emptyObject } from '#registry/empty-object.js'
import { makeTable, parseIncludeObject, partialObjectMetadata } from '#registry/table-printer.js'
import { MadeForms } from '../answers/made-forms.js'
import { type Negotiated, protobuf } from '../answers/negotiation.js'
import { frameInProtobuf, storedFrameInProtobuf } from '../answers/protobuf.js'
import { inAlphabet, partialTextOf, textOf, viewOf } from '../answers/stored-json.js'
import type { Target } from '../api-deps.js'

const frameStarts: Readonly<Record<string, Buffer>> = {
  ADDED: Buffer.from('{"type":"ADDED","object":'),
  MODIFIED: Buffer.from('{"type":"MODIFIED","object":'),
  DELETED: Buffer.from('{"type":"DELETED","object":'),
}

const chunkEnd = Buffer.from('\r\n')
const frameEnd = Buffer.from('}\n')

/** The pieces of a frame in one buffer, as a chunk of HTTP/1.1 if it is to be one. */
const assemble = (pieces: readonly Copyable[], asChunk: boolean): Buffer => {
  const length = lengthOf(pieces)
  if (!asChunk) return joined(pieces, length)
  const all = [Buffer.from(`${length.toString(16)}\r\n`), ...pieces, chunkEnd]
  return joined(all, lengthOf(all))
}

const lengthOf = (pieces: readonly Copyable[]): number =>
  pieces.reduce((sum, piece) => sum + piece.length, 0)

const joined = (pieces: readonly Copyable[], length: number): Buffer => {
  const bytes = Buffer.allocUnsafe(length)
  let at = 0
  for (const piece of pieces) at += piece.copy(bytes, at)
  return bytes
}

/**
 * Frames by event and form (resource, conversion with its version, protobuf, chunk). Watchers of one view share batches,
 * so the frames of a whole batch are kept together, too.
 */
const frames = new MadeForms<ObjectEvent | readonly ObjectEvent[]>(limits.madeFramesBytesMax)

const initialEventsEnd = 'k8s.io/initial-events-end'

interface FrameOptions {
  readonly negotiated: Negotiated
  /** The `includeObject` parameter, for Tables. */
  readonly includeObject: string
  /** Whether each frame is to be a chunk of HTTP/1.1. */
  readonly asChunks: boolean
  readonly clock: Clock
}

/** Turns events, bookmarks and errors into frames of one form. */
export class FrameMaker {
  readonly #target: Target
  readonly #options: FrameOptions
  readonly #form: string
  readonly #inProtobuf: boolean
  #headerSent = false

  constructor(target: Target, options: FrameOptions) {
    this.#target = target
    this.#options = options
    const { group, version } = target.definition.gvr
    const { convert, convertVersion, mediaType } = options.negotiated
    this.#inProtobuf = mediaType === protobuf
    this.#form = `${options.asChunks ? 'chunk ' : ''}${this.#inProtobuf ? 'protobuf ' : ''}${group}/${version} ${convert === undefined ? '' : `${convert} ${convertVersion}`}`
  }

  event(event: ObjectEvent): Buffer {
    const { convert } = this.#options.negotiated
    // The first row of a Table brings its header, and ages differ from second to second: rows are not shared.
    if (convert === 'Table')
      return this.#wrap(event.type, this.#table(viewOf(this.#target.definition, event.stored)))
    return frames.get(event, this.#form, () => this.#frame(this.#piecesOf(event)))
  }

  #piecesOf({ type, stored }: ObjectEvent): readonly Copyable[] {
    const { definition } = this.#target
    const { convert, convertVersion } = this.#options.negotiated
    if (convert !== undefined)
      return this.#inProtobuf
        ? [this.#bytes(type, this.#partial(viewOf(definition, stored)))]
        : [frameStarts[type]!, partialTextOf(definition, stored, convertVersion), frameEnd]
    if (this.#inProtobuf) return storedFrameInProtobuf(type, definition, stored)
    return [frameStarts[type]!, textOf(definition, stored), frameEnd]
  }

  /** Not kept: no other watcher gets these events. */
  initialEvents(events: readonly ObjectEvent[]): Buffer {
    return this.#options.negotiated.convert === 'Table'
      ? this.events(events)
      : this.#frame(events.flatMap((event) => this.#piecesOf(event)))
  }

  events(events: readonly ObjectEvent[]): Buffer {
    const [first] = events
    if (events.length === 1) return this.event(first!)
    const join = () => Buffer.concat(events.map((event) => this.event(event)))
    return this.#options.negotiated.convert === 'Table'
      ? join()
      : frames.get(events, this.#form, join)
  }

  bookmark(revision: number, isInitialEventsEnd: boolean): Buffer {
    const object = emptyObject(this.#target.definition)
    const annotations = {
      ...object.metadata.annotations,
      ...(isInitialEventsEnd ? { [initialEventsEnd]: 'true' } : {}),
    }
    object.metadata = {
      resourceVersion: String(revision),
      ...(Object.keys(annotations).length > 0 ? { annotations } : {}),
    }
    const { convert } = this.#options.negotiated
    return this.#wrap(
      'BOOKMARK',
      convert === undefined
        ? this.#target.definition.isCustom && !this.#inProtobuf
          ? inAlphabet(object)
          : object
        : convert === 'Table'
          ? this.#bookmarkTable(object)
          : this.#partial(object),
    )
  }

  /** The row of a bookmark has no name, and always its metadata, even with includeObject=None. */
  #bookmarkTable(object: KubeObject): unknown {
    const included = parseIncludeObject(this.#options.includeObject)
    const table = this.#table(object, included === 'None' ? 'Metadata' : included)
    for (const { cells } of (table.rows ?? []) as unknown as { cells: unknown[] }[]) cells[0] ??= ''
    return table
  }

  error(status: Status): Buffer {
    return this.#wrap('ERROR', status)
  }

  #wrap(type: string, object: unknown): Buffer {
    return this.#frame([this.#bytes(type, object)])
  }

  #bytes(type: string, object: unknown): Buffer {
    return this.#inProtobuf
      ? frameInProtobuf(type, object)
      : Buffer.from(`{"type":"${type}","object":${stringify(object)}}\n`)
  }

  #frame(pieces: readonly Copyable[]): Buffer {
    return assemble(pieces, this.#options.asChunks)
  }

  #partial(object: KubeObject): unknown {
    return partialObjectMetadata(
      object,
      this.#options.negotiated.convertVersion,
      this.#target.definition,
    )
  }

  #table(
    object: KubeObject,
    includeObject = parseIncludeObject(this.#options.includeObject),
  ): JsonObject {
    const columns = !this.#headerSent || this.#target.definition.repeatsTableHeader === true
    this.#headerSent = true
    const { resourceVersion } = object.metadata
    return makeTable(
      [object],
      resourceVersion === undefined ? {} : { resourceVersion },
      {
        definition: this.#target.definition,
        apiVersion: this.#options.negotiated.convertVersion,
        includeObject,
        now: this.#options.clock.now(),
      },
      { columns },
    )
  }
}
