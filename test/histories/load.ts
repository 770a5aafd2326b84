/** Clients that read and write a few ConfigMaps at once, and watches of them; everything is written down. */

import http from 'node:http'
import https from 'node:https'
import { setTimeout as pause } from 'node:timers/promises'
import { eventually } from '../eventually.js'
import type { Call } from './linearizability.js'
import { isOverloadOrFault, refusalOf } from './refusals.js'
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

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

interface Ask {
  readonly method: Method
  readonly path: string
  readonly body?: object
}

/** `value` as a ConfigMap, with the label that the watch with a selector goes by. It is a merge patch as well. */
const objectOf = (name: string, value: string, more: object = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, labels: { app: labelOf(value) }, ...more },
  data: { value },
})
const labelOf = (value: string): string => (Number(value.split('-')[1]) % 3 === 0 ? 'x' : 'y')
/** What a held object becomes when it is deleted. */
const endingOf = (value: string): string => `${value}-ending`

/** Undefined for what is not part of the load. */
// biome-ignore lint/suspicious/noExplicitAny: what came over the wire
const shownValue = ({ metadata, data }: any): string | undefined => {
  const value = data?.value
  return value !== undefined && metadata.deletionTimestamp !== undefined ? endingOf(value) : value
}

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
    const { revision } = await eventually('a first list', () =>
      this.#list(endpoints[0]!).catch(() => undefined),
    )
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
      const last = await this.#write(endpoint, 'create', `end-${tries}`, true)
      if (last.outcome === 'ok') this.#final = last.revision
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
      if (dice < 0.04) await this.#endInSteps()
      else if (dice < 0.3) await this.#read(endpoint, key)
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
    const path = `${this.#path}/${key}${this.#patience()}`
    const answer = await this.#ask(endpoint, { method: 'GET', path }).catch(() => undefined)
    const end = performance.now()
    if (answer === undefined || isOverloadOrFault(answer.code)) return
    if (answer.code === 404) {
      this.calls.push({ key, action: 'read', start, end, outcome: 'absent' })
      return
    }
    if (answer.code !== 200) return void this.oddities.push(`GET ${answer.code}`)
    const { resourceVersion } = answer.body.metadata
    const value = shownValue(answer.body)!
    const revision = Number(resourceVersion)
    this.#known.set(key, { value, revision: resourceVersion })
    this.calls.push({ key, action: 'read', start, end, outcome: 'ok', found: value, revision })
  }

  async #write(
    endpoint: Endpoint,
    action: 'create' | 'replace' | 'delete',
    key: string,
    isBlind = false,
  ): Promise<Call> {
    const known = action === 'create' || isBlind ? undefined : this.#known.get(key)
    const expected = known?.value
    const resourceVersion = known?.revision
    const path = action === 'create' ? this.#path : `${this.#path}/${key}`
    if (action === 'delete') {
      const body = { preconditions: { resourceVersion } }
      return this.#send(endpoint, { method: 'DELETE', path, body }, { key, action, expected })
    }
    const value = `v-${this.#values++}`
    const change = this.#options.random() < 0.5 ? 'PUT' : 'PATCH'
    const method = action === 'create' ? 'POST' : change
    const body = objectOf(key, value, { resourceVersion })
    const call = await this.#send(
      endpoint,
      { method, path, body },
      { key, action, value, expected },
    )
    if (call.outcome === 'ok' && call.revision !== undefined)
      this.#known.set(key, { value, revision: String(call.revision) })
    return call
  }

  /** The life of an object that a finalizer holds, each step through any of the servers. Nobody else writes to it. */
  async #endInSteps(): Promise<void> {
    const { endpoints, random } = this.#options
    const any = () => endpoints[Math.floor(random() * endpoints.length)]!
    const value = `v-${this.#values++}`
    const key = `held-${value}`
    const path = `${this.#path}/${key}`
    const held = { finalizers: ['example.com/held'] }
    const created = await this.#send(
      any(),
      { method: 'POST', path: this.#path, body: objectOf(key, value, held) },
      { key, action: 'create', value },
    )
    if (created.outcome !== 'ok') return
    const ending = endingOf(value)
    const marked = await this.#send(
      any(),
      { method: 'DELETE', path, body: { preconditions: {} } },
      { key, action: 'replace', value: ending, expected: value },
    )
    await this.#read(any(), key)
    if (marked.outcome !== 'ok') return
    const resourceVersion = String(marked.revision)
    await this.#send(
      any(),
      { method: 'PATCH', path, body: { metadata: { finalizers: null, resourceVersion } } },
      { key, action: 'delete', expected: ending },
    )
    await this.#read(any(), key)
  }

  /** Makes a call and notes what came of it. */
  async #send(
    endpoint: Endpoint,
    { method, path, body }: Ask,
    about: Pick<Call, 'key' | 'action' | 'value' | 'expected'>,
  ): Promise<Call> {
    const start = performance.now()
    const note = (outcome: Call['outcome'], revision?: number): Call => {
      const end = outcome === 'unknown' ? Number.POSITIVE_INFINITY : performance.now()
      const call = { ...about, start, end, outcome, revision }
      this.calls.push(call)
      return call
    }
    try {
      const asked = { method, path: path + this.#patience(), body }
      const { code, body: answered } = await this.#ask(endpoint, asked)
      // A release is answered with the object as it was before.
      const revision = about.action === 'delete' ? undefined : answered.metadata?.resourceVersion
      if (code < 300) return note('ok', Number(revision ?? 0) || undefined)
      if (code === 404) return note('absent')
      // Without an expectation a conflict says only that others wrote in between.
      if (code === 409)
        return note(about.action !== 'create' && !about.expected ? 'refused' : 'conflict')
      if (isOverloadOrFault(code))
        return note(refusalOf(code, answered)?.isCertain ? 'refused' : 'unknown')
      this.oddities.push(`${method} ${code} ${answered.message}`)
      return note('unknown')
    } catch (error) {
      return note((error as NodeJS.ErrnoException).code === 'ECONNREFUSED' ? 'refused' : 'unknown')
    }
  }

  /** Some requests wait less long than what may happen to a store. */
  #patience(): string {
    return this.#options.random() < 0.2 ? '?timeout=1s' : ''
  }

  async #list(endpoint: Endpoint, query = ''): Promise<Snapshot> {
    const start = performance.now()
    const path = `${this.#path}${query}`
    const { code, body } = await this.#ask(endpoint, { method: 'GET', path })
    if (code !== 200) throw new Error(`list: ${code}`)
    // biome-ignore lint/suspicious/noExplicitAny: what came over the wire
    const items = body.items.map((item: any) => {
      const { name, resourceVersion } = item.metadata
      return [name, { value: shownValue(item), revision: Number(resourceVersion) }] as const
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
              const value = shownValue(object)!
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

  async #ask(endpoint: Endpoint, asked: Ask): Promise<Answer> {
    const { code, text } = await this.ask(endpoint, asked)
    const body = JSON.parse(text)
    if (isOverloadOrFault(code) && refusalOf(code, body) === undefined)
      this.oddities.push(`${asked.method} ${asked.path}: ${code} ${text}`)
    return { code, body }
  }

  ask(endpoint: Endpoint, { method, path, body }: Ask): Promise<{ code: number; text: string }> {
    return new Promise((resolve, reject) => {
      const request = this.#request(endpoint, method, path, (answer) => {
        let text = ''
        answer.on('data', (chunk) => {
          text += chunk
        })
        answer.on('close', () => {
          if (!answer.complete || text === '')
            return reject(new Error(`${method} ${path}: ${answer.statusCode} cut off`))
          resolve({ code: answer.statusCode!, text })
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
      'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
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
