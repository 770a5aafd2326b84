/** After how many answers in a row a probe's result counts. */
import fc from 'fast-check'
import t from 'tap'
import { systemClock } from '#api/clock.js'
import type { ContainerSpec } from '#kubelet/pod.js'
import { Prober } from '#kubelet/probes/prober.js'
import type { HandlerTarget } from '#kubelet/probes/run-handler.js'
import type { Container } from '#kubelet/runtime.js'

// The prober's timers keep no process alive.
const alive = setInterval(() => {}, 60_000)
t.teardown(() => clearInterval(alive))

const container = { id: 'c-1', startedAt: 0 } as Container

interface Thresholds {
  readonly successThreshold: number
  readonly failureThreshold: number
}

/** What the probe has said before each of its answers, and after the last one. */
const follow = async (
  kind: 'readinessProbe' | 'livenessProbe',
  answers: readonly boolean[],
  thresholds: Thresholds,
  isReadyBefore = false,
): Promise<{ ready: boolean[]; failed: boolean[]; unhealthy: number }> => {
  const probe = { exec: { command: ['probe'] }, periodSeconds: 0, ...thresholds }
  const spec = { name: 'c', [kind]: probe } as unknown as ContainerSpec
  const ready: boolean[] = []
  const failed: boolean[] = []
  let unhealthy = 0
  let over = (): void => {}
  const done = new Promise<void>((resolve) => {
    over = resolve
  })
  const note = (): void => {
    ready.push(prober.isReady(container.id, spec))
    failed.push(prober.failedProbe(container.id) !== undefined)
  }
  const exec = () => {
    const answer = answers[ready.length]
    note()
    if (answer === undefined) over()
    // What is asked beyond the script is not answered.
    const code =
      answer === undefined ? new Promise<number>(() => {}) : Promise.resolve(answer ? 0 : 1)
    return { done: code, kill: () => {} }
  }
  const prober = new Prober({
    clock: systemClock,
    target: () => ({ runtime: { exec }, containerId: container.id }) as unknown as HandlerTarget,
    was: () => ({ started: true, ready: isReadyBefore }),
    onWarning: () => {},
    onUnhealthy: () => {
      unhealthy++
    },
    onChange: () => {
      // One that has failed for good is not asked again.
      if (kind !== 'readinessProbe' && prober.failedProbe(container.id)) {
        note()
        over()
      }
    },
  })
  prober.follow([[container, spec]])
  await done
  prober.stop()
  return { ready, failed, unhealthy }
}

/** The result after each of the answers: it turns after so many in a row that say otherwise. */
const resultsOf = (
  answers: readonly boolean[],
  { successThreshold, failureThreshold }: Thresholds,
  first: boolean | undefined,
): (boolean | undefined)[] => {
  const results = [first]
  for (let i = 0; i < answers.length; i++) {
    const threshold = answers[i] ? successThreshold : failureThreshold
    const last = answers.slice(0, i + 1).slice(-threshold)
    const isEnough = last.length === threshold && last.every((answer) => answer === answers[i])
    results.push(isEnough ? answers[i] : results.at(-1))
  }
  return results
}

const answers = fc.array(fc.boolean(), { maxLength: 14 })
const thresholds = fc.record({
  successThreshold: fc.integer({ min: 1, max: 3 }),
  failureThreshold: fc.integer({ min: 1, max: 3 }),
})

t.test('readiness turns after so many answers in a row, either way', async (t) => {
  await fc.assert(
    fc.asyncProperty(answers, thresholds, fc.boolean(), async (said, asked, isReadyBefore) => {
      const { ready, unhealthy } = await follow('readinessProbe', said, asked, isReadyBefore)
      const results = resultsOf(said, asked, isReadyBefore ? true : undefined)
      t.same(
        ready,
        results.map((result) => result === true),
        JSON.stringify({ said, asked }),
      )
      t.equal(unhealthy, said.filter((answer) => !answer).length, 'each failure is told')
    }),
    { numRuns: 60 },
  )
})

t.test('a container is given up after so many failures in a row, and asked no more', async (t) => {
  await fc.assert(
    fc.asyncProperty(answers, thresholds, async (said, asked) => {
      const { failed } = await follow('livenessProbe', said, { ...asked, successThreshold: 1 })
      const results = resultsOf(said, { ...asked, successThreshold: 1 }, undefined)
      const end = results.indexOf(false)
      const wanted = results.map((result) => result === false)
      t.same(failed, end < 0 ? wanted : wanted.slice(0, end + 1), JSON.stringify({ said, asked }))
    }),
    { numRuns: 60 },
  )
})
