/** The health protocol of gRPC (grpc.health.v1.Health/Check). Loaded only when a Pod has such a probe. */
import {
  type Client,
  type ClientUnaryCall,
  credentials,
  type ServiceError,
  status,
} from '@grpc/grpc-js'
import { hostInUrl } from '#net/host-in-url.js'
import type { PackageFacts } from '../grpc/proto-facts.js'
import { loadService } from '../grpc/rpc-client.js'
import { failed, type Outcome, ok } from './outcome.js'

const facts: PackageFacts = {
  name: 'grpc.health.v1',
  messages: {
    HealthCheckRequest: { service: ['string', 1] },
    HealthCheckResponse: { status: ['int32', 1] },
  },
  services: { Health: { Check: ['HealthCheckRequest', 'HealthCheckResponse'] } },
}
/** Servers register it, too (tests). */
export const Health = loadService(facts, 'Health')

/** By their numbers. */
const servingStatuses = ['UNKNOWN', 'SERVING', 'NOT_SERVING', 'SERVICE_UNKNOWN']

type Check = (
  request: { service: string },
  done: (error: ServiceError | null, answer?: { status: number }) => void,
) => ClientUnaryCall

const failureOf = ({ code, details }: ServiceError): string =>
  code === status.UNIMPLEMENTED
    ? `error: this server does not implement the grpc health protocol (grpc.health.v1.Health): ${details}`
    : `error: health rpc probe failed: rpc error: code = ${status[code]} desc = ${details}`

interface GrpcQuestion {
  readonly host: string
  readonly port: number
  readonly service: string
  readonly userAgent: string
  /** For the message only; the signal ends the call. */
  readonly timeoutSeconds: number
}

/** Never throws. */
export const askGrpc = (question: GrpcQuestion, signal: AbortSignal): Promise<Outcome> => {
  const { host, port, service, userAgent, timeoutSeconds } = question
  const address = `${hostInUrl(host)}:${port}`
  const client: Client = new Health(address, credentials.createInsecure(), {
    'grpc.primary_user_agent': userAgent,
    'grpc.enable_http_proxy': 0,
  })
  const within = `within ${timeoutSeconds}s`
  let late = `timeout: failed to connect service "${address}" ${within}: context deadline exceeded`
  return new Promise<Outcome>((resolve) => {
    let call: ClientUnaryCall | undefined
    const fail = (message: string) => resolve(failed(message))
    const end = (): void => {
      fail(late)
      // A call that nobody answers would hold its connection, whose client is closed.
      call?.cancel()
    }
    signal.addEventListener('abort', end, { once: true })
    if (signal.aborted) end()
    client.waitForReady(Number.POSITIVE_INFINITY, (error) => {
      if (error || signal.aborted) return
      late = `timeout: health rpc did not complete ${within}`
      const { Check } = client as unknown as { Check: Check }
      call = Check.call(client, { service }, (refusal, answer) => {
        const serving = answer && (servingStatuses[answer.status] ?? answer.status)
        if (refusal) fail(failureOf(refusal))
        else if (serving === 'SERVING') resolve(ok)
        else fail(`service unhealthy (responded with "${serving}")`)
      })
    })
  }).finally(() => client.close())
}
