/** Processes, with or without a server, in the test's own one, so that a test may come between them. */
import { type Client, createClient } from '#client/client.js'
import { followClock } from '#client/follow-clock.js'
import { parseKubeconfig } from '#client/kubeconfig.js'
import { silentLog } from '#client/log.js'
import type { ProcessDeps } from '#client/run-process.js'
import { type ControllerManagerOptions, runControllerManager } from '#controllers/main.js'
import type { ServerOptions } from '#server/options.js'
import { createServer } from '../create-server.js'

type Test = typeof import('tap').t
type Replaced = Partial<Record<string | symbol, unknown>>

/** It acts through `client`, and has ended before what the test has started earlier is torn down. */
const runHere = (
  t: Pick<Test, 'teardown'>,
  client: Client,
  run: (deps: ProcessDeps) => Promise<void>,
): void => {
  const stop = new AbortController()
  const { signal } = stop
  const clock = followClock({ client, log: silentLog, signal })
  const running = run({ client, clock, log: silentLog, signal, hostname: 'test' })
  t.teardown(async () => {
    stop.abort()
    await running
  })
}

export const manage = (
  t: Pick<Test, 'teardown'>,
  client: Client,
  options: Pick<ControllerManagerOptions, 'controllers' | 'settings' | 'actsAsServiceAccounts'>,
): void => runHere(t, client, (deps) => runControllerManager({ ...options, ...deps }))

const startServer = async (t: Pick<Test, 'teardown'>, options: ServerOptions) => {
  const server = await createServer({ storage: 'memory:', port: 0, logLevel: 'silent', ...options })
  const clientOf = async (kubeconfig: string): Promise<Client> => {
    const client = createClient(await parseKubeconfig(kubeconfig), 'test')
    t.teardown(() => client.close())
    return client
  }
  t.teardown(() => server.close())
  return { server, clientOf }
}

/** An admin's client, and one that may do what the controller manager of a cluster of kubeadm may. */
export const startWithManager = async (t: Pick<Test, 'teardown'>) => {
  const { server, clientOf } = await startServer(t, {})
  const manager = await clientOf(server.kubeconfigOf('system:kube-controller-manager'))
  return { client: await clientOf(server.kubeconfig), manager }
}

/** `own` takes the place of what the client of `run` does; the client of the answer is left alone. */
export const startBeside = async (
  t: Pick<Test, 'teardown'>,
  run: (deps: ProcessDeps) => Promise<void>,
  own: (client: Client) => Replaced = () => ({}),
  options: ServerOptions = {},
): Promise<Client> => {
  const { server, clientOf } = await startServer(t, options)
  const client = await clientOf(server.kubeconfig)
  const replaced = own(client)
  const between = new Proxy(client, {
    get(target, key) {
      if (key in replaced) return replaced[key]
      const value: unknown = Reflect.get(target, key, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  runHere(t, between, run)
  return client
}

export const startControllers = (
  t: Pick<Test, 'teardown'>,
  controllers: string[],
  own?: (client: Client) => Replaced,
  options?: ServerOptions,
  settings: ControllerManagerOptions['settings'] = {},
): Promise<Client> =>
  startBeside(t, (deps) => runControllerManager({ ...deps, controllers, settings }), own, options)
