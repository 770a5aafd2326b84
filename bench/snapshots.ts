/** How long a server takes to go back to a snapshot, beside deleting and creating the same objects through its API. */
import { join } from 'node:path'
import { createClient } from '#client/client.js'
import { loadKubeconfig } from '#client/kubeconfig.js'
import { resources } from '#client/resources.js'
import { readFlags } from './read-flags.js'
import { startOurs } from './rivals.js'

const usage = `node dist/bench/snapshots.js [flags]

Of a state with N ConfigMaps to one with N others, by turns: by a restore, and by as many deletes and creates of a client
that sends 16 at once. The server is a process of its own, on LevelDB unless --storage says otherwise.

  --objects N       (1000)
  --rounds N        (5)
  --storage URL     memory:, level:DIR, etcd:URL
`

const flags = readFlags(usage, {
  objects: { type: 'string', default: '1000' },
  rounds: { type: 'string', default: '5' },
  storage: { type: 'string' },
})
const { rival, dataDir } = await startOurs(
  flags.storage === undefined ? {} : { storage: flags.storage },
)
const client = createClient(await loadKubeconfig(join(dataDir, 'kubeconfig')), 'bench')
const namespace = 'default'
const ref = resources.configMaps
const data = { text: 'a line of text\n'.repeat(64) }
const namesOf = (state: string): string[] =>
  Array.from({ length: Number(flags.objects) }, (_, i) => `${state}-${i}`)

const timed = async (act: () => Promise<unknown>): Promise<number> => {
  const began = performance.now()
  await act()
  return performance.now() - began
}
const create = (state: string): Promise<unknown> =>
  Promise.all(
    namesOf(state).map((name) => client.create(ref, { metadata: { name, namespace }, data })),
  )
const remove = (state: string): Promise<unknown> =>
  Promise.all(namesOf(state).map((name) => client.delete(ref, { name, namespace })))
const snapshots = '/kubelevel/snapshots/before'

await create('before')
await client.request({ method: 'PUT', path: snapshots })
const restores: number[] = []
const byApi: number[] = []
for (let round = 0; round < Number(flags.rounds); round++) {
  await remove('before')
  await create('after')
  restores.push(await timed(() => client.request({ method: 'POST', path: `${snapshots}/restore` })))
  await remove('before')
  await create('after')
  byApi.push(await timed(() => remove('after').then(() => create('before'))))
}
const medianOf = (times: number[]): number => times.sort((a, b) => a - b)[times.length >> 1]!
const [restore, api] = [medianOf(restores), medianOf(byApi)]
process.stdout.write(
  `${flags.objects} objects gone and as many back, median of ${flags.rounds}: restore ${restore.toFixed(0)} ms, ` +
    `through the API ${api.toFixed(0)} ms, ${(api / restore).toFixed(1)} times as long\n`,
)
client.close()
await rival.stop()
