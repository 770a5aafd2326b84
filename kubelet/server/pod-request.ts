/** What the API server asks of one Pod. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock } from '#api/clock.js'
import type { Kubelet } from '../kubelet.js'
import type { Pod } from '../pod.js'
import type { Container } from '../runtime.js'

export interface RequestPath {
  readonly kind: string
  readonly namespace: string
  readonly pod: string
  readonly container: string
  readonly query: URLSearchParams
}
export interface Served {
  readonly kubelet: Kubelet
  readonly clock: Clock
  readonly path: RequestPath
  readonly request: IncomingMessage
  readonly response: ServerResponse
}
export interface Upgraded {
  readonly kubelet: Kubelet
  readonly path: RequestPath
  readonly request: IncomingMessage
  readonly socket: Socket
  readonly head: Buffer
}

export class HttpError extends Error {
  readonly code: number
  constructor(code: number, message: string) {
    super(message)
    this.code = code
  }
}

export const findPod = (kubelet: Kubelet, { namespace, pod }: RequestPath): Pod => {
  const found = kubelet.pods.find(
    ({ metadata }) => metadata.namespace === namespace && metadata.name === pod,
  )
  if (!found) throw new HttpError(404, `pod ${pod}_${namespace} does not exist`)
  return found
}

/** Runs of the named container that are still known, oldest first. */
export const findRuns = (kubelet: Kubelet, path: RequestPath): readonly Container[] =>
  kubelet.runtime
    .containersOf(findPod(kubelet, path).metadata.uid)
    .filter(({ name }) => name === path.container)
