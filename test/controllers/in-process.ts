/** The controllers and a server in the test's own process, so that a test may come between them. */
import { systemClock } from '#api/clock.js'
import { type Client, createClient } from '#client/client.js'
import { parseKubeconfig } from '#client/kubeconfig.js'
import { silentLog } from '#client/log.js'
import { runControllerManager } from '#controllers/main.js'
import { createServer } from '#server/create-server.js'

type Test = typeof import('tap').t
type Replaced = Partial<Record<string | symbol, unknown>>

/** `own` takes the place of what the controllers' client does; the client of the answer is left alone. */
export const startControllers = async (
  t: Pick<Test, 'teardown'>,
  controllers: string[],
  own: (client: Client) => Replaced = () => ({}),
): Promise<Client> => {
  const server = await createServer({ storage: 'memory:', port: 0, logLevel: 'silent' })
  const client = createClient(await parseKubeconfig(server.kubeconfig), 'test')
  const replaced = own(client)
  const between = new Proxy(client, {
    get(target, key) {
      if (key in replaced) return replaced[key]
      const value: unknown = Reflect.get(target, key, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  const stop = new AbortController()
  const managing = runControllerManager({
    client: between,
    clock: systemClock,
    log: silentLog,
    signal: stop.signal,
    hostname: 'test',
    controllers,
  })
  t.teardown(async () => {
    stop.abort()
    await managing
    client.close()
    await server.close()
  })
  return client
}
