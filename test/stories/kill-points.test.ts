/** Every story once while processes are killed in it; `main.ts` plays every kill point, for a release. */
import { spawnSync } from 'node:child_process'
import t from 'tap'
import { casesOfCi, nameOf, playCase, startStoryCluster } from './kill-points.js'

const missing =
  process.platform !== 'linux' || spawnSync('flock', ['--version']).status !== 0
    ? 'Pods are told apart by /proc and flock(1)'
    : false

t.test('stories end as they should, whoever is killed', { skip: missing }, async (t) => {
  const cluster = await startStoryCluster()
  for (const [i, one] of casesOfCi().entries()) {
    const wrong = await playCase(cluster, one, { namespace: `story-${i}`, awayMs: 300 })
    t.same(wrong, [], nameOf(one))
  }
  const { output } = cluster
  t.same(await cluster.close(), [], 'no process of a Pod is left')
  if (!t.passing()) t.comment(output)
})
