/** Clients that read and write a few ConfigMaps at once, and watches of them; everything is written down. */

import http from 'node:http'
import https from 'node:https'
import { setTimeout as pause } from 'node:timers/promises'
import type { Call } from './linearizability.js'
import type { Snapshot, WatchRecord, WatchStream } from './watch-guarantees.js'

export interface Endpoint {
  /** `https://127.0.0.1:6443`; may change when a server starts again. */
  url: string
}

interface LoadOptions {
  readonly endpoints: readonly Endpoint[]
  readonly token: string
  readonly namespace: string
  readonly random: () => number
  readonly clients?: number
}

const keys = ['k0', 'k1', 'k2', 'k3']
const requestTimeoutMs = 8_000

interface Answer {
  readonly code: number
  // biome-ignore lint/suspicious/noExplicitAny: answers are of every kind
  readonly body: any
}

/** `value` as a ConfigMap, with the label that the watch with a selector goes by. */
const objectOf = (name: string, value: string, resourceVersion?: string) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, resourceVersion, labels: { app: labelOf(value) } },
  data: { value },
})
const labelOf = (value: string): string => (Number(value.split('-')[1]) % 3 === 0 ? 'x' : 'y')

export class Load {
  readonly calls: Call[] = []
  readonly snapshots: Snapshot[] = []
  readonly streams: WatchStream[] = []
  /** Answers that no client should get, whatever happens to the server. */
  readonly oddities: string[] = []
  readonly #options: LoadOptions
  readonly #agents = [
    new https.Agent({ keepAlive: true, rejectUnauthorized: false }),
    new http.Agent({ keepAlive: true }),
  ]
  readonly #open = new Set<http.ClientRequest>()
  readonly #known = new Map<string, { value: string; revision: string }>()
  readonly #stop = new AbortController()
  #running: Promise<void>[] = []
  readonly #watching: Promise<void>[] = []
  #values = 0
  #final: number | undefined

  constructor(options: LoadOptions) {
    this.#options = options
  }

  get acknowledged(): number {
    return this.calls.filter((c) => c.outcome === 'ok' && c.action !== 'read').length
  }

  get #path(): string {
    return `/api/v1/namespaces/${this.#options.namespace}/configmaps`
  }

  /** Starts watches from the empty state, then clients. */
  async start(): Promise<void> {
    const { endpoints, clients = 6 } = this.#options
    const { revision } = await this.#list(endpoints[0]!)
    for (const [index, endpoint] of endpoints.entries()) {
      this.#startWatch(`all-${index}`, endpoint, revision, Number.POSITIVE_INFINITY)
      this.#startWatch(`resuming-${index}`, endpoint, revision, 7)
      this.#startWatch(`label-${index}`, endpoint, revision, 23, 'x')
    }
    this.#running = Array.from({ length: clients }, (_, i) =>
      this.#client(i, endpoints[i % endpoints.length]!),
    )
  }

  /** Cuts what is under way, as a network would. */
  dropConnections(): void {
    for (const request of this.#open) request.destroy()
  }

  /** Ends everything at once: nobody will read the history. */
  abandon(): void {
    this.#stop.abort()
    this.#final = -1
    this.dropConnections()
    for (const agent of this.#agents) agent.destroy()
  }

  /** Ends the clients, and the watches once they have seen all. */
  async finish(timeoutMs = 120_000): Promise<void> {
    this.#stop.abort()
    await Promise.all(this.#running)
    const endpoint = this.#options.endpoints[0]!
    for (let tries = 0; this.#final === undefined; tries++) {
      // Something that every watch sees, the one with a label too, ends them.
      this.#values += 3 - (this.#values % 3)
      const before = this.calls.length
      await this.#write(endpoint, 'create', `end-${tries}`, true)
      const last = this.calls[before]
      if (last?.outcome === 'ok') this.#final = last.revision
      else if (tries > 100) throw new Error(`no write succeeds: ${JSON.stringify(last)}`)
      else await pause(100)
    }
    await this.#list(endpoint)
    // It keeps nobody who has no watch left.
    const late = pause(timeoutMs, 'late', { ref: false })
    if ((await Promise.race([Promise.all(this.#watching), late])) === 'late')
      this.oddities.push(`a watch did not reach ${this.#final}`)
    this.#final = -1
    this.dropConnections()
    await Promise.all(this.#watching)
    for (const agent of this.#agents) agent.destroy()
  }

  async #client(index: number, endpoint: Endpoint): Promise<void> {
    const { random } = this.#options
    while (!this.#stop.signal.aborted) {
      const key = keys[Math.floor(random() * keys.length)]!
      const dice = random()
      if (dice < 0.3) await this.#read(endpoint, key)
      else if (dice < 0.4) await this.#list(endpoint).catch(() => {})
      else if (dice < 0.48) await this.#listExactly(endpoint)
      else if (dice < 0.58) await this.#write(endpoint, 'delete', key)
      else if (dice < 0.7) await this.#write(endpoint, 'create', key)
      else await this.#write(endpoint, 'replace', key, dice < 0.78)
      if (this.calls[this.calls.length - 1]?.outcome === 'refused') await pause(20)
      await pause(random() * (index % 2 === 0 ? 2 : 8))
    }
  }

  async #read(endpoint: Endpoint, key: string): Promise<void> {
    const start = performance.now()
    const answer = await this.#ask(endpoint, 'GET', `${this.#path}/${key}`).catch(() => undefined)
    const end = performance.now()
    if (answer === undefined || answer.code >= 429) return
    if (answer.code === 404) {
      this.calls.push({ key, action: 'read', start, end, outcome: 'absent' })
      return
    }
    if (answer.code !== 200) return void this.oddities.push(`GET ${answer.code}`)
    const { metadata, data } = answer.body
    const revision = Number(metadata.resourceVersion)
    this.#known.set(key, { value: data.value, revision: metadata.resourceVersion })
    this.calls.push({ key, action: 'read', start, end, outcome: 'ok', found: data.value, revision })
  }

  async #write(
    endpoint: Endpoint,
    action: 'create' | 'replace' | 'delete',
    key: string,
    isBlind = false,
  ): Promise<void> {
    const known = action === 'create' || isBlind ? undefined : this.#known.get(key)
    const value = action === 'delete' ? undefined : `v-${this.#values++}`
    const start = performance.now()
    const path = action === 'create' ? this.#path : `${this.#path}/${key}`
    const method = { create: 'POST', replace: 'PUT', delete: 'DELETE' }[action]
    const preconditions = { resourceVersion: known?.revision }
    const body =
      value === undefined
        ? { kind: 'DeleteOptions', apiVersion: 'v1', preconditions }
        : objectOf(key, value, known?.revision)
    const note = (outcome: Call['outcome'], end: number, revision?: number) => {
      this.calls.push({
        key,
        action,
        value,
        expected: known?.value,
        start,
        end,
        outcome,
        revision,
      })
    }
    try {
      const answer = await this.#ask(endpoint, method, path, body)
      const end = performance.now()
      const { code } = answer
      if (code < 300) {
        const revision = Number(answer.body.metadata?.resourceVersion ?? 0) || undefined
        if (value !== undefined && revision !== undefined)
          this.#known.set(key, { value, revision: String(revision) })
        note('ok', end, revision)
      } else if (code === 404) note('absent', end)
      // Without an expectation a conflict says only that others wrote in between.
      else if (code === 409)
        note(action !== 'create' && known === undefined ? 'refused' : 'conflict', end)
      else if (code === 429 || code === 503) note('refused', end)
      else {
        if (code < 500) this.oddities.push(`${method} ${code} ${answer.body.message}`)
        note('unknown', Number.POSITIVE_INFINITY)
      }
    } catch (error) {
      const never = (error as NodeJS.ErrnoException).code === 'ECONNREFUSED'
      note(never ? 'refused' : 'unknown', never ? performance.now() : Number.POSITIVE_INFINITY)
    }
  }

  async #list(endpoint: Endpoint, query = ''): Promise<Snapshot> {
    const start = performance.now()
    const { code, body } = await this.#ask(endpoint, 'GET', `${this.#path}${query}`)
    if (code !== 200) throw new Error(`list: ${code}`)
    // biome-ignore lint/suspicious/noExplicitAny: what came over the wire
    const items = body.items.map(({ metadata, data }: any) => {
      const revision = Number(metadata.resourceVersion)
      return [metadata.name, { value: data?.value, revision }] as const
    })
    const snapshot: Snapshot = {
      revision: Number(body.metadata.resourceVersion),
      // What every namespace has is not part of the load.
      items: new Map(items.filter(([, { value }]: [string, { value?: string }]) => value)),
      start,
      end: performance.now(),
      isConsistent: query === '',
    }
    this.snapshots.push(snapshot)
    return snapshot
  }

  async #listExactly(endpoint: Endpoint): Promise<void> {
    const known = [...this.#known.values()]
    const { revision } = known[Math.floor(this.#options.random() * known.length)] ?? {}
    if (revision === undefined) return
    const query = `?resourceVersion=${revision}&resourceVersionMatch=Exact`
    await this.#list(endpoint, query).catch(() => {})
  }

  #startWatch(
    name: string,
    endpoint: Endpoint,
    revision: number,
    piece: number,
    label?: string,
  ): void {
    const records: WatchRecord[] = []
    this.streams.push({
      name,
      selects: (value) => label === undefined || labelOf(value) === label,
      isWhole: label === undefined,
      records,
    })
    const selector = label === undefined ? '' : `&labelSelector=app%3D${label}`
    const run = async () => {
      let after = revision
      while (this.#final === undefined || (after < this.#final && this.#final > 0)) {
        records.push({ kind: 'open', after })
        const query = `?watch=1&allowWatchBookmarks=true&timeoutSeconds=3${selector}`
        const path = `${this.#path}${query}&resourceVersion=${after}`
        after = await this.#watchOnce(endpoint, path, piece, records, after)
        if (records[records.length - 1]!.kind === 'gone') {
          const fresh = await this.#list(endpoint).catch(() => undefined)
          after = fresh?.revision ?? after
        }
        await pause(5)
      }
    }
    this.#watching.push(run())
  }

  /** Yields the resourceVersion to go on after. */
  #watchOnce(
    endpoint: Endpoint,
    path: string,
    piece: number,
    records: WatchRecord[],
    from: number,
  ): Promise<number> {
    return new Promise((resolve) => {
      let after = from
      let events = 0
      let rest = ''
      const request = this.#request(endpoint, 'GET', path, (answer) => {
        answer.on('data', (chunk) => {
          const lines = (rest + chunk).split('\n')
          rest = lines.pop()!
          for (const line of lines) {
            if (request.destroyed) return
            const { type, object } = JSON.parse(line)
            // A refusal has no type and is no event.
            if (type === undefined) return void request.destroy()
            if (type === 'ERROR' || object.kind === 'Status') {
              if (object.code === 410) records.push({ kind: 'gone' })
              return void request.destroy()
            }
            const revision = Number(object.metadata.resourceVersion)
            after = revision
            if (type === 'BOOKMARK') records.push({ kind: 'bookmark', revision })
            else if (object.data?.value !== undefined) {
              const { value } = object.data
              records.push({ kind: 'event', type, key: object.metadata.name, revision, value })
            }
            if (++events >= piece || (this.#final !== undefined && revision >= this.#final))
              request.destroy()
          }
        })
      })
      request.on('close', () => resolve(after))
    })
  }

  async #ask(endpoint: Endpoint, method: string, path: string, body?: object): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const request = this.#request(endpoint, method, path, (answer) => {
        let text = ''
        answer.on('data', (chunk) => {
          text += chunk
        })
        answer.on('close', () => {
          if (!answer.complete || text === '')
            return reject(new Error(`${method} ${path}: ${answer.statusCode} cut off`))
          resolve({ code: answer.statusCode!, body: JSON.parse(text) })
        })
      })
      const timer = setTimeout(() => request.destroy(new Error('no answer')), requestTimeoutMs)
      request.on('error', reject)
      request.on('close', () => clearTimeout(timer))
      if (body === undefined) return void request.end()
      const payload = JSON.stringify(body)
      // Node sends a DELETE's body without its length, as if another request followed.
      request.setHeader('content-length', Buffer.byteLength(payload))
      request.end(payload)
    })
  }

  #request(
    endpoint: Endpoint,
    method: string,
    path: string,
    take: (answer: http.IncomingMessage) => void,
  ): http.ClientRequest {
    const isSecure = endpoint.url.startsWith('https')
    const headers = {
      authorization: `Bearer ${this.#options.token}`,
      'content-type': 'application/json',
    }
    const options = { method, headers, agent: this.#agents[isSecure ? 0 : 1] }
    const send = isSecure ? https.request : http.request
    const request = send(endpoint.url + path, options, (answer) => {
      answer.setEncoding('utf8')
      answer.on('error', () => {})
      take(answer)
    })
    request.on('error', () => {})
    this.#open.add(request)
    request.on('close', () => this.#open.delete(request))
    if (path.includes('watch=1')) request.end()
    return request
  }
}
