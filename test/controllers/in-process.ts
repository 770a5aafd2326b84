/** The controllers, with or without a server, in the test's own process, so that a test may come between them. */
import { systemClock } from '#api/clock.js'
import { type Client, createClient } from '#client/client.js'
import { parseKubeconfig } from '#client/kubeconfig.js'
import { silentLog } from '#client/log.js'
import { type ControllerManagerOptions, runControllerManager } from '#controllers/main.js'
import { createServer } from '#server/create-server.js'
import type { ServerOptions } from '#server/options.js'

type Test = typeof import('tap').t
type Replaced = Partial<Record<string | symbol, unknown>>

/** They act through `client`, and have ended before what the test has started earlier is torn down. */
export const manage = (
  t: Pick<Test, 'teardown'>,
  client: Client,
  options: Pick<ControllerManagerOptions, 'controllers' | 'settings'>,
): void => {
  const stop = new AbortController()
  const managing = runControllerManager({
    ...options,
    client,
    clock: systemClock,
    log: silentLog,
    signal: stop.signal,
    hostname: 'test',
  })
  t.teardown(async () => {
    stop.abort()
    await managing
  })
}

/** `own` takes the place of what the controllers' client does; the client of the answer is left alone. */
export const startControllers = async (
  t: Pick<Test, 'teardown'>,
  controllers: string[],
  own: (client: Client) => Replaced = () => ({}),
  options: ServerOptions = {},
): Promise<Client> => {
  const server = await createServer({ storage: 'memory:', port: 0, logLevel: 'silent', ...options })
  const client = createClient(await parseKubeconfig(server.kubeconfig), 'test')
  const replaced = own(client)
  const between = new Proxy(client, {
    get(target, key) {
      if (key in replaced) return replaced[key]
      const value: unknown = Reflect.get(target, key, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  t.teardown(async () => {
    client.close()
    await server.close()
  })
  manage(t, between, { controllers })
  return client
}
