import t from 'tap'
import { call, startServer } from '../server/start-server.js'
import { Load, pause } from './load.js'
import { plantedBugs, startProxy } from './planted-bugs.js'
import { problemsOf } from './verdict.js'

const server = await startServer(t)

const play = async (
  namespace: string,
  url: string,
): Promise<{ load: Load; problems: string[] }> => {
  const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } }
  await call(server, { method: 'POST', path: '/api/v1/namespaces', body })
  const load = new Load({
    endpoints: [{ url }],
    token: server.adminToken,
    namespace,
    random: Math.random,
  })
  await load.start()
  while (load.acknowledged < 100) await pause(20)
  await load.finish(2_000)
  return { load, problems: problemsOf(load) }
}

t.test('a right server behind a proxy without a bug passes', async (t) => {
  const proxy = await startProxy(server.url, {})
  t.teardown(() => proxy.close())
  const { load, problems } = await play('right', proxy.url)
  t.same(problems, [])
  t.ok(load.snapshots.length > 20)
})

for (const [index, [name, plant]] of Object.entries(plantedBugs).entries()) {
  t.test(`planted and caught: ${name}`, async (t) => {
    const proxy = await startProxy(server.url, plant())
    t.teardown(() => proxy.close())
    // A bug that comes by chance gets a second round.
    let problems: string[] = []
    for (let round = 0; round < 4 && problems.length === 0; round++)
      problems = (await play(`bug-${index}-${round}`, proxy.url)).problems.filter(
        // A slow machine may be late too: that alone convicts nobody.
        (problem) => !/did not reach/.test(problem),
      )
    t.ok(problems.length > 0)
    t.comment(problems[0])
  })
}
