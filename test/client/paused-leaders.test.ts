/** Two processes that elect one of them, while the one that leads is stopped for longer than its Lease lasts. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { eventually } from '../eventually.js'
import { call, startServer } from '../server/start-server.js'
import { temporaryDirectory } from '../storage/level-fixture.js'

const leader = fileURLToPath(new URL('./fixtures/counting-leader.js', import.meta.url))
const pauses = 4

interface Candidate {
  child: ChildProcess
  readonly counts: number[]
}

const compete = (t: Test, server: string, identity: string): Candidate => {
  const candidate: Candidate = { child: undefined as unknown as ChildProcess, counts: [] }
  let over = false
  // Who lost the Lease ends, and its supervisor starts it again.
  const start = () => {
    candidate.child = spawn(process.execPath, [leader, server, identity], {
      // By the channel it learns when the test was killed, and ends too.
      stdio: ['ignore', 'pipe', 'ignore', 'ipc'],
    })
    candidate.child.stdout!.on('data', (chunk) => {
      for (const line of String(chunk).trim().split('\n'))
        if (line !== 'conflict') candidate.counts.push(Number(line))
    })
    candidate.child.once('exit', () => !over && start())
  }
  start()
  t.teardown(async () => {
    over = true
    candidate.child.kill('SIGKILL')
    await once(candidate.child, 'exit')
  })
  return candidate
}

t.test('if two both think that they lead, one is refused: no count is written twice', async (t) => {
  const tokenAuthFile = join(temporaryDirectory(t), 'tokens.csv')
  writeFileSync(tokenAuthFile, 't,t,t,"system:masters"\n')
  const server = await startServer(t, { tokenAuthFile })
  const path = '/api/v1/namespaces/default/configmaps'
  await call(server, {
    method: 'POST',
    path,
    body: { metadata: { name: 'count' }, data: { count: '0' } },
  })
  const candidates = ['a', 'b'].map((identity) => compete(t, server.url, identity))
  const counted = () => candidates.map(({ counts }) => counts.length)
  for (let i = 0; i < pauses; i++) {
    const before = counted()
    const [a = 0, b = 0] = await eventually('one that counts', () => {
      const more = counted().map((n, k) => n - before[k]!)
      return Math.max(...more) >= 5 && more
    })
    const [leading, other] = a > b ? candidates : [...candidates].reverse()
    const { child } = leading!
    const had = other!.counts.length
    child.kill('SIGSTOP')
    await eventually('the other to count', () => other!.counts.length >= had + 3)
    child.kill('SIGCONT')
  }
  // Before the read: who leads goes on counting, and only what was acknowledged before it has to be in what it finds.
  const all = candidates.flatMap(({ counts }) => counts)
  const { body } = await call(server, { path: `${path}/count` })
  t.equal(new Set(all).size, all.length, 'each count was acknowledged once')
  t.ok(Number(body.data.count) >= Math.max(...all))
  for (const { counts } of candidates) t.ok(counts.length > 3, `${counts.length}`)
})
