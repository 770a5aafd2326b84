/**
 * The static Pods of this node, which no API can delete, and their mirrors in the API, which show them there. Of one name
 * the next runs when the one before has ended. Upstream: pod_workers.go (allowStaticPodStart), kubelet.go
 * (tryReconcileMirrorPods), pkg/kubelet/pod/mirror_client.go.
 */

import type { Client } from '#client/client.js'
import { messageOf } from '#client/errors.js'
import type { Log } from '#client/log.js'
import { keyOf } from '#client/object-store.js'
import { resources } from '#client/resources.js'
import { canonicalJson } from '#json/object.js'
import { deletePod } from '../delete-pod.js'
import { type Pod, type PodStatus, revisionOf } from '../pod.js'
import type { PodWorker } from '../pod-worker.js'
import type { StatusSink, StatusWriter } from '../status/status-writer.js'
import { isMirrorOf, mirrorOf } from './static-pod.js'

interface StaticPodsDeps {
  readonly client: Client
  readonly log: Log
  readonly nodeName: string
  readonly writer: StatusWriter
  start(pod: Pod, writer: StatusSink): PodWorker
}

interface Entry {
  /** As its manifest has it; undefined when that is gone. */
  wanted: Pod | undefined
  worker: PodWorker | undefined
  mirror: Pod | undefined
  /** The uid of the last mirror that has gone. */
  gone: string | undefined
  status: PodStatus | undefined
  busy: boolean
  again: boolean
}

export class StaticPods {
  readonly #deps: StaticPodsDeps
  /** By namespace and name. */
  readonly #entries = new Map<string, Entry>()
  /** No mirror is made before those that exist have been seen. */
  #knowsMirrors = false

  constructor(deps: StaticPodsDeps) {
    this.#deps = deps
  }

  /** Sets all static Pods that there are from now on. */
  set(pods: readonly Pod[]): void {
    const wanted = new Map(pods.map((pod) => [keyOf(pod), pod]))
    for (const key of new Set([...this.#entries.keys(), ...wanted.keys()])) {
      this.#entry(key).wanted = wanted.get(key)
      this.#follow(key)
    }
  }

  /** Every mirror of this node has been seen. */
  mirrorsSeen(): void {
    this.#knowsMirrors = true
    for (const key of this.#entries.keys()) this.#reconcileMirror(key)
  }

  seeMirror(mirror: Pod): void {
    const key = keyOf(mirror)
    const entry = this.#entry(key)
    // An event of an earlier mirror that comes late.
    if (entry.mirror && revisionOf(mirror) < revisionOf(entry.mirror)) return
    entry.mirror = mirror
    entry.worker?.wake()
    this.#reconcileMirror(key)
  }

  loseMirror({ metadata }: Pod): void {
    this.#deps.writer.forget(metadata.uid)
    const key = `${metadata.namespace}/${metadata.name}`
    const entry = this.#entry(key)
    if (entry.mirror?.metadata.uid === metadata.uid) entry.mirror = undefined
    entry.gone = metadata.uid
    this.#reconcileMirror(key)
  }

  /** Nothing is left here of a Pod that was. */
  finished(uid: string): void {
    for (const [key, entry] of this.#entries)
      if (entry.worker?.pod.metadata.uid === uid) {
        entry.worker = undefined
        this.#follow(key)
      }
  }

  #entry(key: string): Entry {
    const known = this.#entries.get(key)
    if (known) return known
    const none = undefined
    const nothing = { wanted: none, worker: none, mirror: none, gone: none, status: none }
    const fresh = { ...nothing, busy: false, again: false }
    this.#entries.set(key, fresh)
    return fresh
  }

  #follow(key: string): void {
    const entry = this.#entry(key)
    const { wanted, worker } = entry
    if (worker === undefined) {
      entry.status = undefined
      if (wanted) entry.worker = this.#deps.start(wanted, this.#sinkOf(entry))
    } else if (worker.pod.metadata.uid !== wanted?.metadata.uid) worker.disappear()
    // Its manifest names an identity of its own, and has other contents by now.
    else if (canonicalJson(worker.pod.spec) !== canonicalJson(wanted.spec)) worker.update(wanted)
    this.#reconcileMirror(key)
  }

  /** What is said of a static Pod is written into its mirror, if there is one. */
  #sinkOf(entry: Entry): StatusSink {
    const { writer } = this.#deps
    return {
      set: (_pod, status) => {
        entry.status = status
        this.#tell(entry)
      },
      forget: () => {},
      newest: (pod) => {
        const status = entry.mirror && writer.newest(entry.mirror).status
        return status ? { ...pod, status } : pod
      },
    }
  }

  #tell({ mirror, status, wanted }: Entry): void {
    // The object does not go when the Pod has ended, only when somebody takes the manifest away.
    if (mirror && status && wanted && isMirrorOf(mirror, wanted))
      this.#deps.writer.set(mirror, status, false)
  }

  #reconcileMirror(key: string): void {
    const entry = this.#entry(key)
    entry.again = true
    if (entry.busy || !this.#knowsMirrors) return
    entry.busy = true
    void this.#reconcile(entry)
      .catch((error) =>
        this.#deps.log.warn(
          { pod: key, error: messageOf(error) },
          'the mirror of a static Pod was not written',
        ),
      )
      .finally(() => {
        entry.busy = false
        const { wanted, worker, mirror } = entry
        // Something came when nobody looked any more.
        if (entry.again) this.#reconcileMirror(key)
        else if (!wanted && !worker && !mirror && this.#entries.get(key) === entry)
          this.#entries.delete(key)
      })
  }

  async #reconcile(entry: Entry): Promise<void> {
    while (entry.again) {
      entry.again = false
      const { wanted, worker, mirror } = entry
      // It shows what still runs until that has ended.
      const isLast = worker !== undefined && worker.pod.metadata.uid !== wanted?.metadata.uid
      if (isLast || (mirror && wanted && isMirrorOf(mirror, wanted))) continue
      if (mirror) {
        await deletePod(this.#deps.client, mirror)
        if (entry.mirror === mirror) entry.mirror = undefined
      }
      if (wanted) {
        const made = await this.#create(wanted)
        // The watch may have told of its end before.
        if (made.metadata.uid !== entry.gone) entry.mirror = made
      }
      entry.worker?.wake()
    }
  }

  async #create(pod: Pod): Promise<Pod> {
    const { client, nodeName } = this.#deps
    const node = await client.get(resources.nodes, { name: nodeName })
    return client.create<Pod>(resources.pods, mirrorOf(pod, node.metadata))
  }
}
