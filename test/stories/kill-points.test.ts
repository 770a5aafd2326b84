/** Every story once while processes are killed in it; `main.ts` plays every kill point, for a release. */
import { spawnSync } from 'node:child_process'
import t from 'tap'
import { playCasesOfCi, storiesTimeoutMs } from './play-cases-of-ci.js'

const missing =
  process.platform !== 'linux' || spawnSync('flock', ['--version']).status !== 0
    ? 'Pods are told apart by /proc and flock(1)'
    : false

t.setTimeout(storiesTimeoutMs)
t.test('stories end as they should, whoever is killed', { skip: missing }, (t) => playCasesOfCi(t))
