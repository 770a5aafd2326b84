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

/** `missing` is what is said of one that is not here. */
export const findPod = (
  kubelet: Kubelet,
  { namespace, pod }: RequestPath,
  missing = 'pod does not exist',
): Pod => {
  const found = kubelet.pods.find(
    ({ metadata }) => metadata.namespace === namespace && metadata.name === pod,
  )
  if (!found) throw new HttpError(404, missing)
  return found
}

/** The named container's run that goes on. */
export const findRunning = (kubelet: Kubelet, path: RequestPath): Container | undefined =>
  kubelet.runtime
    .containersOf(findPod(kubelet, path).metadata.uid)
    .findLast(({ name, state }) => name === path.container && state === 'running')
