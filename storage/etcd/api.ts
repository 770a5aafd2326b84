/** Calls of etcd's v3 gRPC API: to which member they go, how long they may take, and which are retried. */

import { type ClientUnaryCall, Metadata, type ServiceError, status } from '@grpc/grpc-js'
import { setTimer } from '#async/set-timer.js'
import { sleep } from '#async/sleep.js'
import { limits } from '#limits'
import { type EtcdTls, type Member, Members } from './members.js'
import type { StatusResponse, WatchStream } from './messages.js'

export interface CallOptions {
  readonly timeoutMs: number
  /** Retry when the connection broke. Only for calls that change nothing. */
  readonly retries?: boolean
}

/**
 * As upstream's client: calls wait for a connection instead of failing, and reads are retried; the caller's deadline ends
 * both. So these times are longer than any deadline of a request.
 */
const behindMs = 2_000
export const readCall: CallOptions = {
  timeoutMs: limits.requestTimeoutMs + behindMs,
  retries: true,
}
export const writeCall: CallOptions = { timeoutMs: limits.writeTimeoutMs + behindMs }

const retryMinMs = 25
const retryMaxMs = 1_000
/** A member that does not answer within this is taken to be stopped or cut off, and the others are asked first. */
const patienceMs = 2_000

/**
 * No member accepted the write: it did not happen and may be retried. With `requiringLeader` a member that is cut off
 * from the others says so instead of not answering, and ends its watches (upstream's watchContext).
 */
const notTakenOn = /^etcdserver: no leader$|raft proposal dropped/
const requiringLeader = { hasleader: 'true' }

const metadataOf = (pairs: Readonly<Record<string, string>>): Metadata => {
  const metadata = new Metadata({ waitForReady: true })
  for (const [name, value] of Object.entries(pairs)) metadata.set(name, value)
  return metadata
}

interface Question {
  readonly service: string
  readonly method: string
  readonly request: object
  readonly isWrite: boolean
}

export interface EtcdWatch {
  readonly stream: WatchStream
  /** False for etcd before 3.4.31 and 3.5.13, where a requested progress may overtake events or never come. */
  readonly progressIsReliable: boolean
}

type Unary = (
  request: object,
  metadata: Metadata,
  done: (error: ServiceError | null, response: unknown) => void,
) => ClientUnaryCall

export class EtcdApi {
  readonly #members: Members
  readonly #reading = metadataOf({})
  readonly #writing = metadataOf(requiringLeader)
  #closed = false

  /** `servers`: `http://host:2379`, more than one separated by commas. */
  constructor(servers: string, tls: EtcdTls) {
    this.#members = new Members(servers, tls)
  }

  /** True when there is another member to turn to. */
  get hasOthers(): boolean {
    return this.#members.areSeveral
  }

  async call<T>(
    service: string,
    method: string,
    request: object,
    { timeoutMs, retries = false }: CallOptions,
  ): Promise<T> {
    const end = performance.now() + timeoutMs
    let patience = Math.min(patienceMs, timeoutMs / 3)
    for (let delay = retryMinMs; ; delay = Math.min(delay * 2, retryMaxMs)) {
      const member = await this.#members.next(end)
      const left = end - performance.now()
      const question = { service, method, request, isWrite: !retries }
      try {
        const triesMs = retries && this.hasOthers ? Math.min(left, patience) : left
        return (await this.#once(member, question, triesMs)) as T
      } catch (error) {
        const { code, details } = error as ServiceError
        const isOver = this.#closed || performance.now() + delay > end
        if (isOver || !mayBeMadeAgain(code, details, retries)) throw error
        // The member may only be slow, so each retry gets more time.
        patience *= 2
        if (code !== status.DEADLINE_EXCEEDED) await sleep(delay)
      }
    }
  }

  #once(member: Member, question: Question, timeoutMs: number, signal?: AbortSignal) {
    const client = member.service<Record<string, Unary>>(question.service)
    return new Promise((resolve, reject) => {
      let isLate = false
      const metadata = question.isWrite ? this.#writing : this.#reading
      const call = client[question.method]!(question.request, metadata, (error, response) => {
        clearTimeout(late)
        clearTimeout(silence)
        signal?.removeEventListener('abort', cancel)
        if (error === null) {
          member.heard()
          return resolve(response)
        }
        if (isLate) error.code = status.DEADLINE_EXCEEDED
        // The member is cut off from the others, or about to stop.
        if (isLate || error.code === status.UNAVAILABLE) member.notHeard()
        reject(error)
      })
      const cancel = () => call.cancel()
      signal?.addEventListener('abort', cancel)
      // A timer instead of a gRPC deadline, which goes by the wall clock.
      const late = setTimer(
        () => {
          isLate = true
          call.cancel()
        },
        Math.max(timeoutMs, 0),
      )
      const silence = this.hasOthers ? setTimeout(() => member.notHeard(), patienceMs) : undefined
    })
  }

  /** A watch of the next member that answers. */
  async watch(signal: AbortSignal): Promise<EtcdWatch> {
    const question = { service: 'Maintenance', method: 'Status', request: {}, isWrite: false }
    for (;;) {
      const member = await this.#members.next(Number.POSITIVE_INFINITY, signal)
      try {
        const answer = await this.#once(member, question, patienceMs, signal)
        const progressIsReliable = hasReliableProgress((answer as StatusResponse).version)
        const client = member.service<{ watch(metadata: Metadata): WatchStream }>('Watch')
        return { stream: client.watch(this.#writing), progressIsReliable }
      } catch (error) {
        if (signal.aborted || this.#closed) throw error
        await sleep(retryMinMs, signal)
      }
    }
  }

  close(): void {
    this.#closed = true
    this.#members.close()
  }
}

/** As kube-apiserver's feature_support_checker.go; etcd issues 15220 and 17507. */
export const hasReliableProgress = (version: string): boolean => {
  const [major = 0, minor = 0, patch = 0] = version
    .split('.')
    .map((part) => Number.parseInt(part, 10))
  if (major !== 3 || minor > 5) return major >= 3
  return (minor === 5 && patch >= 13) || (minor === 4 && patch >= 31)
}

const mayBeMadeAgain = (code: status, details: string, retries: boolean): boolean =>
  notTakenOn.test(details) ||
  (retries && (code === status.UNAVAILABLE || code === status.DEADLINE_EXCEEDED))
