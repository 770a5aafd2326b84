/**
 * Tells the API what Pods are. One write a Pod at a time and the latest status only, so that a burst of changes is
 * one write; many Pods at once, up to a bound. When a Pod has ended and the API knows it, this deletes the object
 * (kubernetes, status_manager.go canBeDeleted).
 */

import { conditionOf } from '#api/conditions.js'
import { isTerminalPhase } from '#api/pod-phase.js'
import type { Client } from '#client/client.js'
import { isNotFound, messageOf } from '#client/errors.js'
import type { Log } from '#client/log.js'
import { resources } from '#client/resources.js'
import { canonicalJson } from '#json/object.js'
import { limits } from '#limits'
import { deletePod } from '../delete-pod.js'
import { type Pod, type PodCondition, type PodStatus, revisionOf } from '../pod.js'
import { isOwnCondition, isWrittenCondition } from './pod-conditions.js'

const retryMinMs = 200
const retryMaxMs = 10_000

interface Entry {
  /** The API's object, the newest that was seen. */
  known: Pod
  status: PodStatus
  /** Everything of the Pod is gone from this node. */
  finished: boolean
  gone: boolean
  /** It was deleted from here; a finalizer may hold it. */
  deleted: boolean
  busy: boolean
  /** Something came while it was busy. */
  again: boolean
  retryMs: number
}

const equal = (a: unknown, b: unknown): boolean => canonicalJson(a) === canonicalJson(b)

/** A condition of ours that differs; fields that it has no more are named, or the merge would keep them. */
const conditionPatch = (next: PodCondition, before: PodCondition | undefined) =>
  equal(next, before)
    ? []
    : [
        {
          ...next,
          reason: next.reason ?? null,
          message: next.message ?? null,
        },
      ]

const lists: ReadonlySet<string> = new Set(['podIPs', 'hostIPs'])
const maps: ReadonlySet<string> = new Set(['resources', 'allocatedResources'])

/** What would be merged with what is there takes its place. In a map the directive is for one that is there alone. */
const replacing = (key: string, value: unknown, before: PodStatus): unknown => {
  const directive = { $patch: 'replace' }
  if (lists.has(key)) return [directive, ...(value as object[])]
  const isThere = before[key as keyof PodStatus] !== undefined
  return maps.has(key) && isThere ? { ...directive, ...(value as object) } : value
}

/** Strategic merge patch that turns one status into the other; undefined when there is nothing to say. */
const statusPatch = (before: PodStatus, next: PodStatus): Record<string, unknown> | undefined => {
  const patch: Record<string, unknown> = {}
  for (const key of ['reason', 'message', 'podIP', 'hostIP'] as const) {
    if (before[key] !== undefined && next[key] === undefined) patch[key] = null
  }
  for (const [key, value] of Object.entries(next)) {
    if (value === undefined || key === 'conditions') continue
    if (equal(value, before[key as keyof PodStatus])) continue
    patch[key] = replacing(key, value, before)
  }
  const conditions: object[] = (next.conditions ?? [])
    .filter(isWrittenCondition)
    .flatMap((condition) =>
      conditionPatch(condition, conditionOf({ status: before }, condition.type)),
    )
  const dropped = (before.conditions ?? []).filter(
    (one) => isOwnCondition(one) && !next.conditions?.some(({ type }) => type === one.type),
  )
  conditions.push(...dropped.map(({ type }) => ({ type, $patch: 'delete' })))
  if (conditions.length > 0) {
    patch.conditions = conditions
    // A merge would leave in front whatever was there first.
    patch['$setElementOrder/conditions'] = (next.conditions ?? []).map(({ type }) => ({ type }))
  }
  return Object.keys(patch).length === 0 ? undefined : patch
}

/** Where a Pod's worker puts the Pod's status. */
export type StatusSink = Pick<StatusWriter, 'set' | 'forget' | 'newest'>

export class StatusWriter {
  readonly #client: Client
  readonly #log: Log
  readonly #entries = new Map<string, Entry>()
  readonly #queue: string[] = []
  readonly #queued = new Set<string>()
  readonly #whenIdle: (() => void)[] = []
  #inFlight = 0

  constructor(client: Client, log: Log) {
    this.#client = client
    this.#log = log
  }

  /** The Pod's status from now on. `finished`: nothing of the Pod is left here. */
  set(pod: Pod, status: PodStatus, finished: boolean): void {
    const { uid } = pod.metadata
    const entry = this.#entries.get(uid)
    if (!entry) {
      const begin = { gone: false, deleted: false, busy: false, again: false }
      this.#entries.set(uid, { known: pod, status, finished, ...begin, retryMs: retryMinMs })
    } else {
      entry.status = status
      entry.finished = finished
      if (revisionOf(pod) >= revisionOf(entry.known)) {
        entry.known = pod
        // One that was restored since has a grace again.
        entry.deleted &&= pod.metadata.deletionGracePeriodSeconds === 0
      }
    }
    this.#enqueue(uid)
  }

  /** The API no longer has the object, so there is nothing left to write. */
  forget(uid: string): void {
    const entry = this.#entries.get(uid)
    if (entry) entry.gone = true
    this.#entries.delete(uid)
  }

  /** Resolves when nothing waits to be written that could be written now. */
  async flush(): Promise<void> {
    while (this.#inFlight > 0 || this.#queue.length > 0)
      await new Promise<void>((resolve) => this.#whenIdle.push(resolve))
  }

  /** The API's object as of the last write, when that is newer than the given one. */
  newest(pod: Pod): Pod {
    const known = this.#entries.get(pod.metadata.uid)?.known
    return known && revisionOf(known) > revisionOf(pod) ? known : pod
  }

  #enqueue(uid: string): void {
    if (this.#queued.has(uid)) return
    this.#queued.add(uid)
    this.#queue.push(uid)
    // A turn later, so that what changes together is written together.
    setImmediate(() => this.#next())
  }

  #next(): void {
    while (this.#inFlight < limits.statusWritesMax) {
      const uid = this.#queue.shift()
      if (uid === undefined) break
      this.#queued.delete(uid)
      const entry = this.#entries.get(uid)
      if (!entry) continue
      // It comes again when the write that is under way is done.
      entry.again = entry.busy
      if (entry.busy) continue
      this.#inFlight++
      entry.busy = true
      void this.#write(uid, entry).finally(() => {
        this.#inFlight--
        entry.busy = false
        if (entry.again) this.#enqueue(uid)
        this.#next()
      })
    }
    if (this.#inFlight === 0 && this.#queue.length === 0)
      for (const resolve of this.#whenIdle.splice(0)) resolve()
  }

  async #write(uid: string, entry: Entry): Promise<void> {
    const { status } = entry
    try {
      const wrote = await this.#patch(entry)
      entry.retryMs = retryMinMs
      if (wrote || entry.status === status) await this.#deleteIfDue(entry)
    } catch (error) {
      // The object is gone, or (a conflict) another has its name: the watch will say so, which ends the retries.
      if (isNotFound(error)) return
      this.#retry(uid, entry, error)
    }
  }

  async #patch(entry: Entry): Promise<boolean> {
    const { known, status } = entry
    const patch = statusPatch(known.status ?? {}, status)
    if (!patch) return false
    const { name, namespace, uid } = known.metadata
    const answer = await this.#client.patch<Pod>(
      resources.pods,
      { name, namespace },
      { metadata: { uid }, status: patch },
      { type: 'strategic', subresource: 'status' },
    )
    if (revisionOf(answer) >= revisionOf(entry.known)) {
      const { managedFields: _, ...metadata } = answer.metadata
      entry.known = { ...answer, metadata }
    }
    return true
  }

  async #deleteIfDue(entry: Entry): Promise<void> {
    const { known, finished, gone, deleted } = entry
    const { metadata, status } = known
    if (!finished || gone || deleted || !metadata.deletionTimestamp) return
    if (!isTerminalPhase(status?.phase)) return
    const answer = await deletePod(this.#client, known)
    if (answer === undefined) return
    entry.known = answer
    entry.deleted = true
  }

  #retry(uid: string, entry: Entry, error: unknown): void {
    const { retryMs } = entry
    entry.retryMs = Math.min(retryMaxMs, 2 * retryMs)
    this.#log.info({ uid, error: messageOf(error), retryMs }, 'status was not written, will retry')
    setTimeout(() => {
      if (this.#entries.get(uid) === entry) this.#enqueue(uid)
    }, retryMs).unref()
  }
}
