/** Builds every collaborator of one server and starts it: the only place that does. */
import { repairAddresses } from '#kinds/core/service-repair.js'
import { advertiseAddress } from './advertise-address.js'
import { publishKubernetesService } from './bootstrap.js'
import { type Controllers, startControllers } from './controllers.js'
import { writePrivateFile } from './credentials.js'
import { formatKubeconfig } from './kubeconfig.js'
import { bindAddressOf, type ServerOptions } from './options.js'
import { makePort } from './port.js'
import { bootstrapDeps, openServerState, type ServerState } from './server-state.js'
import { StartedParts } from './started-parts.js'

export interface Server {
  /** `https://127.0.0.1:6443` */
  readonly url: string
  /** Text of a kubeconfig for the admin. */
  readonly kubeconfig: string
  readonly adminToken: string
  readonly caPem: string
  /** Answers what it accepted, ends watches, closes the storage. */
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** What a server writes about itself when it knows its port. */
const publish = async (
  state: ServerState,
  { lease }: Controllers,
  options: ServerOptions,
  port: number,
): Promise<void> => {
  const { postStartHooks } = state
  const ip = advertiseAddress(bindAddressOf(options))
  const deps = bootstrapDeps(options, state)
  await publishKubernetesService(deps, { ip, port })
  postStartHooks.finish('bootstrap-controller', 'peer-endpoint-reconciler-controller')
  await lease.hold(`${ip}:${port}`)
  postStartHooks.finish(
    'start-kube-apiserver-identity-lease-controller',
    'start-kube-apiserver-identity-lease-garbage-collector',
  )
  await repairAddresses(deps)
  postStartHooks.finish('start-service-ip-repair-controllers')
}

const start = async (
  options: ServerOptions,
  started: StartedParts,
): Promise<Pick<Server, 'url' | 'kubeconfig' | 'adminToken' | 'caPem'>> => {
  const state = await openServerState(options, started)
  const controllers = await startControllers(state, started)
  const port = makePort(state, controllers, options)
  started.defer(() => port.close())
  await publish(state, controllers, options, await port.listen())
  const url = port.url()
  const { caPem, admin, adminToken } = state.credentials
  const kubeconfig = formatKubeconfig({ url, caPem, ...admin, token: adminToken })
  if (options.kubeconfigOut !== undefined) writePrivateFile(options.kubeconfigOut, kubeconfig)
  return { url, kubeconfig, adminToken, caPem }
}

/** A server that cannot start leaves nothing open. */
export const createServer = async (options: ServerOptions = {}): Promise<Server> => {
  const started = new StartedParts()
  try {
    const close = (): Promise<void> => started.end()
    return { ...(await start(options, started)), close, [Symbol.asyncDispose]: close }
  } catch (error) {
    // What cannot end after that is a consequence; the first error says what to do.
    await started.end().catch(() => {})
    throw error
  }
}
