/** What `npm install kubelevel` gives: the same server in the process of who imports it, as often as wanted. */
import { existsSync, readFileSync } from 'node:fs'
import t from 'tap'
import { systemClock } from '#api/clock.js'
import { createClient } from '#client/client.js'
import { parseKubeconfig } from '#client/kubeconfig.js'
import { resources } from '#client/resources.js'
import { packageRoot } from '#program/package-root.js'
import type * as Package from '#src/index.js'
import { openStorage } from '#storage/open.js'
import { driverWith } from '../histories/planted-driver-bugs.js'

const manifest = JSON.parse(readFileSync(new URL('package.json', packageRoot), 'utf8'))
const { types, default: entry } = manifest.exports['.']
const isBuilt = existsSync(new URL(entry, packageRoot))

t.test(
  'two servers out of the package live side by side and know nothing of each other',
  { skip: !isBuilt && 'npm run build has made no bundle' },
  async (t) => {
    t.ok(existsSync(new URL(types, packageRoot)))
    const { createServer }: typeof Package = await import(manifest.name as string)
    const servers = await Promise.all([createServer(), createServer()])
    const clients = await Promise.all(
      servers.map(async ({ kubeconfig }) => createClient(await parseKubeconfig(kubeconfig))),
    )
    t.teardown(async () => {
      for (const client of clients) client.close()
      await Promise.all(servers.map((server) => server.close()))
    })
    const at = { namespace: 'default', name: 'x' }
    const [one, other] = clients
    await one!.create(resources.configMaps, { metadata: at, data: { of: 'one' } })
    t.match(await one!.get(resources.configMaps, at), { data: { of: 'one' } })
    await t.rejects(other!.get(resources.configMaps, at), /not found/)
    await servers[0].close()
    t.match(await other!.get(resources.namespaces, { name: 'default' }), { kind: 'Namespace' })
  },
)

t.test(
  "a driver of one's own tells by StorageError what it could not do",
  { skip: !isBuilt && 'npm run build has made no bundle' },
  async (t) => {
    const { createServer, StorageError }: typeof Package = await import(manifest.name as string)
    const memory = await openStorage('memory:', { clock: systemClock })
    t.teardown(() => memory.close())
    let isFull = false
    const storage = driverWith(memory, {
      txn: async (compares, operations) => {
        if (isFull) throw new StorageError('ReadOnly', 'planted')
        return memory.txn(compares, operations)
      },
    })
    const server = await createServer({ storage })
    t.teardown(() => server.close())
    const client = createClient(await parseKubeconfig(server.kubeconfig))
    t.teardown(() => client.close())
    isFull = true
    const metadata = { namespace: 'default', name: 'x' }
    await t.rejects(client.create(resources.configMaps, { metadata }), {
      code: 503,
      message: /storage does not take writes/,
    })
  },
)
