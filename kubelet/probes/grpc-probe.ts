/** The health protocol of gRPC (grpc.health.v1.Health/Check). Loaded only when a Pod has such a probe. */
import {
  type Client,
  type ClientUnaryCall,
  credentials,
  type GrpcObject,
  loadPackageDefinition,
  type ServiceClientConstructor,
  type ServiceError,
  status,
} from '@grpc/grpc-js'
import { fromJSON } from '@grpc/proto-loader'
import { hostInUrl } from '#net/host-in-url.js'
import { failed, type Outcome, ok } from './outcome.js'

const messages = {
  nested: {
    HealthCheckRequest: { fields: { service: { type: 'string', id: 1 } } },
    HealthCheckResponse: {
      fields: { status: { type: 'ServingStatus', id: 1 } },
      nested: {
        ServingStatus: {
          values: { UNKNOWN: 0, SERVING: 1, NOT_SERVING: 2, SERVICE_UNKNOWN: 3 },
        },
      },
    },
    Health: {
      methods: {
        Check: { requestType: 'HealthCheckRequest', responseType: 'HealthCheckResponse' },
      },
    },
  },
}
const descriptor = { nested: { grpc: { nested: { health: { nested: { v1: messages } } } } } }
const loaded = loadPackageDefinition(
  fromJSON(descriptor as unknown as Parameters<typeof fromJSON>[0], {
    enums: String,
    defaults: true,
  }),
)
const { v1 } = (loaded.grpc as GrpcObject).health as GrpcObject
/** Servers register it, too (tests). */
export const Health = (v1 as GrpcObject).Health as ServiceClientConstructor

type Check = (
  request: { service: string },
  done: (error: ServiceError | null, answer?: { status: string }) => void,
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
        if (refusal) fail(failureOf(refusal))
        else if (answer?.status === 'SERVING') resolve(ok)
        else fail(`service unhealthy (responded with "${answer?.status}")`)
      })
    })
  }).finally(() => client.close())
}
