/** Times that are longer than Node's timers can be (24.8 days), which Node takes for no time at all. */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { systemClock } from '#api/clock.js'
import { sleep } from '#async/sleep.js'
import { withinTime } from '#async/within-time.js'
import type { ContainerSpec } from '#kubelet/pod.js'
import { Prober } from '#kubelet/probes/prober.js'
import type { HandlerTarget } from '#kubelet/probes/run-handler.js'
import type { Container } from '#kubelet/runtime.js'
import { eventually } from '../eventually.js'
import { script, startNode } from './node.js'

const yearSeconds = 31_536_000

t.test('a Pod with a grace of a year has its preStop, and ends by itself', async (t) => {
  const node = await startNode(t)
  const record = path.join(node.folder, 'order')
  const say = (word: string) => `echo ${word} >>${record}`
  const term = `${say('term')}; sleep 1; ${say('done')}; exit 7`
  await node.run(
    'p',
    {
      ...script(`trap "${term}" TERM; echo up; while :; do sleep 0.05; done`),
      lifecycle: { preStop: { exec: { command: ['sh', '-c', `sleep 0.5; ${say('pre')}`] } } },
    },
    { terminationGracePeriodSeconds: yearSeconds, restartPolicy: 'Never' },
  )
  await node.ready('p')
  await eventually('its first word', async () => (await node.logs('p')).includes('up'))
  const ended = node.until('p', ({ status }) => status!.phase === 'Failed')
  await node.delete('p')
  const [status] = (await ended).status!.containerStatuses!
  t.equal(status!.state.terminated!.exitCode, 7)
  t.equal(readFileSync(record, 'utf8'), 'pre\nterm\ndone\n')
})

t.test(
  'a probe whose first time, period or timeout is far away does not come at once',
  async (t) => {
    const asked: string[] = []
    let answers = 0
    const proberOf = (name: string, probe: object) => {
      const spec = {
        name,
        livenessProbe: { exec: { command: ['x'] }, ...probe },
      } as unknown as ContainerSpec
      const exec = () => {
        asked.push(name)
        return { done: delay(50).then(() => 0), kill: () => asked.push(`${name} killed`) }
      }
      const prober = new Prober({
        clock: systemClock,
        target: () => ({ runtime: { exec }, containerId: name }) as unknown as HandlerTarget,
        was: () => ({ started: true, ready: false }),
        onWarning: () => {},
        onUnhealthy: () => {},
        onChange: () => answers++,
      })
      t.teardown(() => prober.stop())
      const container = { id: name, startedAt: systemClock.now() } as Container
      prober.follow([[container, spec]])
    }
    const far = 2_147_483_647
    proberOf('later', { initialDelaySeconds: far })
    proberOf('once', { periodSeconds: far })
    proberOf('patient', { timeoutSeconds: far, periodSeconds: far })
    await eventually('two answers', () => answers === 2)
    await delay(100)
    t.same(asked.sort(), ['once', 'patient'])
  },
)

t.test('a wait of months is no wait for nothing', async (t) => {
  const stop = new AbortController()
  const asleep = Promise.race([sleep(1e11, stop.signal).then(() => 'over'), delay(50)])
  t.equal(await asleep, undefined)
  stop.abort()
  const act = (signal: AbortSignal) => delay(50).then(() => signal.aborted)
  t.equal(await withinTime(new AbortController().signal, 1e11, act), false)
})
