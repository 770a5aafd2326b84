/** One side of the comparison: its connections, and what is sent over them. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Connection } from './connection.js'
import { NodeConnection } from './node-client.js'
import type { BenchOptions } from './options.js'
import { jsonOf, RawConnection } from './raw-client.js'
import type { Rival } from './rivals.js'
import { WatchSessions } from './watch-sessions.js'
import {
  accountsPath,
  type Call,
  collections,
  namespace,
  podsPath,
  seedCall,
  type Workload,
} from './workloads.js'

export interface Measured {
  calls: number
  ms: number
  failed: number
  /** Processor time of the server. */
  cpuMs: number
}

export const nothingMeasured = (): Measured => ({ calls: 0, ms: 0, failed: 0, cpuMs: 0 })

const named = (name: string) => Buffer.from(JSON.stringify({ metadata: { name } }))

const watchOf = (path: string, revision: string): string =>
  `${path}?watch=true&resourceVersion=${revision}`

export class Runner {
  readonly rival: Rival
  readonly #connections: Connection[]
  readonly #counters = new Map<string, number>()

  constructor(rival: Rival, { client, connections }: BenchOptions) {
    this.rival = rival
    const { url, token } = rival
    const open = () =>
      client === 'raw' ? new RawConnection(url, token) : new NodeConnection(url, token)
    this.#connections = Array.from({ length: connections }, open)
  }

  #openRaw(count: number): RawConnection[] {
    const { url, token } = this.rival
    return Array.from({ length: count }, () => new RawConnection(url, token))
  }

  send({ method, path, body, type }: Call, to = this.#connections[0]!) {
    return to.request(method, path, body, type)
  }

  /** Sends them all, each over the connection that is free next. Throws for an answer that is no success, nor expected. */
  async sendAll(count: number, callOf: (n: number) => Call, expected = 409): Promise<void> {
    let n = 0
    await Promise.all(
      this.#connections.map(async (connection) => {
        while (n < count) {
          const { status, body } = await this.send(callOf(n++), connection)
          if (status >= 300 && status !== expected) throw new Error(`${status}: ${body}`)
        }
      }),
    )
  }

  async seed(objects: number): Promise<void> {
    await this.send({ method: 'POST', path: '/api/v1/namespaces', body: named(namespace) })
    await this.send({ method: 'POST', path: accountsPath, body: named('default') })
    await this.sendAll(objects, seedCall)
  }

  /** Takes away what was made, so that a server that goes on is as it was; the namespace first, so that nothing comes anew. */
  async clean(): Promise<void> {
    const path = `/api/v1/namespaces/${namespace}`
    await this.send({ method: 'DELETE', path })
    for (const collection of collections) await this.#empty(collection)
    for (let tries = 0; tries < 20; tries++) {
      const { status } = await this.send({ method: 'GET', path })
      if (status === 404) return
      await sleep(500)
    }
    // There is no namespace controller, which would have done this.
    const body = named(namespace)
    await this.send({ method: 'PUT', path: `${path}/finalize`, body })
  }

  /** One by one: a server may take longer for a collection at once than for a request. */
  async #empty(path: string): Promise<void> {
    for (;;) {
      const { status, body } = await this.send({ method: 'GET', path: `${path}?limit=500` })
      if (status !== 200) throw new Error(`${status}: ${body}`)
      const { items } = jsonOf(body) as { items: { metadata: { name: string } }[] }
      if (items.length === 0) return
      const callOf = (n: number): Call => ({
        method: 'DELETE',
        path: `${path}/${items[n]!.metadata.name}?gracePeriodSeconds=0`,
      })
      // A server's own controllers may have been there before.
      await this.sendAll(items.length, callOf, 404)
    }
  }

  async round(workload: Workload, ms: number, into: Measured): Promise<void> {
    await this.#prepare(workload)
    await this.#load(workload, ms, into)
  }

  async #prepare({ prepare }: Workload): Promise<void> {
    // The floor has no objects: it gives its one answer.
    if (prepare === undefined || this.rival.set !== undefined) return
    const calls = prepare()
    await this.sendAll(calls.length, (n) => calls[n]!)
  }

  async #load(workload: Workload, ms: number, into: Measured): Promise<void> {
    let n = this.#counters.get(workload.name) ?? 0
    const started = performance.now()
    const cpuBefore = this.rival.cpuMs()
    const last = n + (workload.callsMax ?? Number.POSITIVE_INFINITY)
    await Promise.all(
      this.#connections.map(async (connection) => {
        while (performance.now() < started + ms && n < last) {
          const { status } = await this.send(workload.call(n++), connection)
          into.calls++
          if (status >= 300) into.failed++
        }
      }),
    )
    into.ms += performance.now() - started
    into.cpuMs += this.rival.cpuMs() - cpuBefore
    this.#counters.set(workload.name, n)
  }

  /** Deliveries to so many watchers of what each connection changes, one call after another. */
  async fanOut(workload: Workload, ms: number, count: number, into: Measured): Promise<void> {
    const watched = workload.watched!
    await this.#prepare(workload)
    let delivered = 0
    const watchers = await this.#watch(watched.path, count, (n) => {
      delivered += n
    })
    const sent = nothingMeasured()
    const cpuBefore = this.rival.cpuMs()
    const started = performance.now()
    await this.#load(workload, ms, sent)
    const wanted = sent.calls * watched.framesPerCall * watchers.length
    // What was written is delivered to the end, however long that takes.
    for (let idle = 0, before = -1; delivered < wanted && idle < 200; before = delivered) {
      await sleep(10)
      idle = delivered === before ? idle + 1 : 0
    }
    into.ms += performance.now() - started
    into.cpuMs += this.rival.cpuMs() - cpuBefore
    into.calls += delivered
    into.failed += sent.failed + Math.max(0, wanted - delivered)
    for (const watcher of watchers) watcher.close()
  }

  /** Deliveries to so many watchers of what they have missed: connected already, they ask all at once. */
  async catchUp(workload: Workload, ms: number, count: number, into: Measured): Promise<void> {
    const { path, history } = workload.watched!
    const { calls } = history!
    const revision = await this.#revisionOf(path)
    // The floor has no history: it gives its one answer.
    if (this.rival.set === undefined) {
      const from = this.#counters.get(workload.name) ?? 0
      this.#counters.set(workload.name, from + calls)
      await this.sendAll(calls, (n) => workload.call(from + n))
    }
    for (let spent = 0; spent < ms; ) {
      const watchers = this.#openRaw(count)
      await Promise.all(watchers.map((watcher) => watcher.opened()))
      const cpuBefore = this.rival.cpuMs()
      const started = performance.now()
      await new Promise<void>((resolve) => {
        let wanted = calls * count
        const take = (lines: number) => {
          wanted -= lines
          if (wanted <= 0) resolve()
        }
        for (const watcher of watchers) void watcher.stream(watchOf(path, revision), take)
      })
      const took = performance.now() - started
      into.cpuMs += this.rival.cpuMs() - cpuBefore
      into.ms += took
      into.calls += calls * count
      spent += took
      for (const watcher of watchers) watcher.close()
    }
  }

  /** Bytes that the server grows by for so many watches that nothing happens to. */
  async idleWatches({ idleWatches, idleOver }: BenchOptions): Promise<number> {
    const before = this.rival.residentBytes()
    const watchers =
      idleOver === 'http/2'
        ? [await this.#watchTogether(podsPath, idleWatches)]
        : await this.#watch(podsPath, idleWatches, () => {})
    await sleep(2_000)
    const bytes = this.rival.residentBytes() - before
    for (const watcher of watchers) watcher.close()
    await sleep(500)
    return bytes
  }

  async #watchTogether(path: string, count: number): Promise<WatchSessions> {
    const stream = watchOf(path, await this.#revisionOf(path))
    const sessions = new WatchSessions(this.rival)
    for (let n = 0; n < count; n++) await sessions.open(stream)
    return sessions
  }

  async #watch(
    path: string,
    count: number,
    lines: (count: number) => void,
  ): Promise<RawConnection[]> {
    const stream = watchOf(path, await this.#revisionOf(path))
    const watchers = this.#openRaw(count)
    // A server answers the head of a watch before it has taken its place among the watchers.
    await Promise.all(watchers.map((watcher) => watcher.stream(stream, lines)))
    await sleep(200)
    return watchers
  }

  async #revisionOf(path: string): Promise<string> {
    const { body } = await this.send({ method: 'GET', path: `${path}?limit=1` })
    return /"resourceVersion":"(\d+)"/.exec(String(body))?.[1] ?? '0'
  }

  close(): void {
    for (const connection of this.#connections) connection.close()
  }
}
