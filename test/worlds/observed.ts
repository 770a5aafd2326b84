/** All scripts of a cluster as they are, and when the last of each changed. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { PersistedObject } from '#api/object.js'
import type { Client } from '#client/client.js'
import { InformerFactory } from '#client/informer-factory.js'
import { silentLog } from '#client/log.js'
import type { Pod } from '#client/pod.js'
import { resources } from '#client/resources.js'
import { lineOf } from './canonical.js'
import { kinds, type State } from './state.js'

/** The namespace of the script that an object belongs to: what has none, or what an Event tells of, is named after it, or a node that it is for. */
const scriptOf = ({ metadata, kind, ...object }: PersistedObject): string => {
  const regarding = object.regarding as Regarded | undefined
  const { nodeName } = (object.spec ?? {}) as { nodeName?: string }
  const isAttachment = kind === resources.volumeAttachments.kind
  const { namespace, name } = isAttachment ? { name: nodeName! } : (regarding ?? metadata)
  return namespace || name.slice(0, name.lastIndexOf('-'))
}
interface Regarded {
  namespace?: string
  name: string
}

/** While this process stands still it sees no change: no pause between two looks counts for more. */
const lookMs = 100

/** How long nothing changes before a script counts as settled, and how long that is waited for. */
interface Patience {
  readonly quietMs: number
  readonly atMostMs: number
}

/** Follows all scripts of a cluster, until `signal`. */
export class Observed {
  readonly #informers: InformerFactory
  /** How often something of each script has changed. */
  readonly #changes = new Map<string, number>()

  constructor(client: Client) {
    this.#informers = new InformerFactory({ client, log: silentLog })
  }

  /** `onPod` is told of each Pod that is new or has changed. */
  async start(signal: AbortSignal, onPod: (pod: Pod) => void): Promise<void> {
    const note = (object: PersistedObject): void => {
      const script = scriptOf(object)
      this.#changes.set(script, (this.#changes.get(script) ?? 0) + 1)
    }
    // A node beats.
    const onUpdate = (next: PersistedObject, previous: PersistedObject): void => {
      if (lineOf(next) !== lineOf(previous)) note(next)
    }
    for (const ref of kinds)
      this.#informers.for(ref).handle({ onAdd: note, onUpdate, onDelete: note })
    this.#informers.for<Pod>(resources.pods).handle({ onAdd: onPod, onUpdate: onPod })
    await this.#informers.start(signal)
  }

  stopped(): Promise<unknown> {
    return this.#informers.stopped()
  }

  async settled(namespace: string, { quietMs, atMostMs }: Patience): Promise<void> {
    let seen = this.#changes.get(namespace)
    let quiet = 0
    for (let waited = 0; quiet < quietMs && waited < atMostMs; waited += lookMs) {
      await sleep(lookMs)
      const now = this.#changes.get(namespace)
      quiet = now === seen ? quiet + lookMs : 0
      seen = now
    }
  }

  read(namespace: string): State {
    return Object.fromEntries(
      kinds.map((ref) => {
        const all = this.#informers.for(ref).store.list()
        return [ref.kind, all.filter((object) => scriptOf(object) === namespace)]
      }),
    )
  }
}
