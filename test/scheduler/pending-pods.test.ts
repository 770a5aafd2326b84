/** Which of the Pods that wait is tried next, whatever has happened to them: compared with a look at all of them. */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import type { Pod } from '#client/pod.js'
import { PendingPods } from '#scheduler/pending-pods.js'

interface Known {
  pod: Pod
  turn: number
  refusals: number
  errors: number
  notBefore: number
  parkedUntil: number
  isWoken: boolean
  isWokenByAny: boolean
  needsRoom: boolean
}

const names = ['a', 'b', 'c', 'd', 'e']
const name = fc.constantFrom(...names)
const put = fc.record({
  kind: fc.constant('put' as const),
  name,
  priority: fc.integer({ min: 0, max: 1 }),
  made: fc.constantFrom('2026-01-01T00:00:00Z', '2026-01-01T00:00:01Z'),
})
const attempt = fc.record({
  kind: fc.constant('try' as const),
  during: fc.constantFrom('nothing', 'unpark', 'busy'),
  end: fc.constantFrom('refused', 'error', 'waits', 'bound', 'dropped'),
  isWokenByAny: fc.boolean(),
  needsRoom: fc.boolean(),
})
const step = fc.oneof(
  { weight: 4, arbitrary: put },
  { weight: 5, arbitrary: attempt },
  fc.record({ kind: fc.constant('change' as const), name }),
  fc.record({ kind: fc.constant('remove' as const), name }),
  fc.record({ kind: fc.constant('busy' as const), name, is: fc.boolean() }),
  fc.record({ kind: fc.constant('unpark' as const), names: fc.subarray(names) }),
  fc.record({ kind: fc.constant('room' as const), names: fc.subarray(names) }),
  fc.record({ kind: fc.constant('time' as const), ms: fc.constantFrom(1, 900, 4_000, 300_000) }),
)

const keyOf = ({ metadata }: Pod): string => `n/${metadata.name}`
const comesBefore = (a: Known, b: Known): number =>
  (b.pod.spec.priority ?? 0) - (a.pod.spec.priority ?? 0) ||
  a.pod.metadata.creationTimestamp!.localeCompare(b.pod.metadata.creationTimestamp!) ||
  a.turn - b.turn

t.test('the next Pod is that which a look at all of them finds', async (t) => {
  let tried = 0
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 60, maxLength: 150 }), async (steps) => {
      let now = 0
      let turns = 0
      const pending = new PendingPods(() => now, { initialMs: 1_000, longestMs: 10_000 })
      const known = new Map<string, Known>()
      const busy = new Set<string>()
      const expected = (): Known | undefined => {
        const free = [...known].filter(([key]) => !busy.has(key)).map(([, entry]) => entry)
        const due = free.filter((e) => Math.max(e.notBefore, e.parkedUntil) <= now)
        const early = free.filter((e) => e.parkedUntil <= now && e.errors === 0)
        return (due.length > 0 ? due : early).sort(comesBefore)[0]
      }
      const next = async (): Promise<Pod | undefined> => {
        const stop = new AbortController()
        const found = pending.next(busy, stop.signal)
        stop.abort()
        return found
      }
      const wake = (entry: Known): void => {
        entry.parkedUntil = 0
        entry.isWoken = true
      }
      const unpark = (those: readonly string[], needsRoom = false): void => {
        const concerns = ({ metadata }: Pod) => those.includes(metadata.name)
        if (needsRoom) pending.roomLeft(concerns)
        else pending.unpark(concerns)
        for (const entry of known.values())
          if (entry.isWokenByAny || (concerns(entry.pod) && (!needsRoom || entry.needsRoom)))
            wake(entry)
      }
      const attemptIt = async (doing: Extract<(typeof steps)[number], { kind: 'try' }>) => {
        const best = expected()
        const pod = await next()
        assert.equal(pod?.metadata.uid, best?.pod.metadata.uid)
        if (best === undefined || pod === undefined) return
        tried++
        const key = keyOf(pod)
        if (doing.end === 'waits') {
          pending.waits(pod)
          best.parkedUntil = now + 300_000
          return
        }
        pending.begin(pod)
        best.isWoken = false
        if (doing.during === 'unpark') unpark([pod.metadata.name])
        if (doing.during === 'busy') busy.add(key)
        if (doing.end === 'bound') {
          pending.remove(key)
          known.delete(key)
        } else if (doing.end !== 'dropped') {
          const park = doing.end === 'refused'
          pending.failed(pod, {
            park,
            isWokenByAny: doing.isWokenByAny,
            needsRoom: doing.needsRoom,
          })
          const times = park ? best.refusals++ : best.errors++
          if (park) best.errors = 0
          best.notBefore = now + Math.min(10_000, 1_000 * 2 ** times)
          best.parkedUntil = park && !best.isWoken ? now + 300_000 : 0
          best.isWokenByAny = doing.isWokenByAny
          best.needsRoom = doing.needsRoom
        }
      }
      const putIt = (pod: Pod): void => {
        pending.put(pod)
        known.set(keyOf(pod), {
          ...{ pod, turn: turns++, refusals: 0, errors: 0, notBefore: 0, parkedUntil: 0 },
          ...{ isWoken: false, isWokenByAny: false, needsRoom: true },
        })
      }
      for (const doing of steps) {
        const entry = 'name' in doing ? known.get(`n/${doing.name}`) : undefined
        if (doing.kind === 'time') now += doing.ms
        else if (doing.kind === 'try') await attemptIt(doing)
        else if (doing.kind === 'unpark') unpark(doing.names)
        else if (doing.kind === 'room') unpark(doing.names, true)
        else if (doing.kind === 'busy')
          if (doing.is) busy.add(`n/${doing.name}`)
          else busy.delete(`n/${doing.name}`)
        else if (doing.kind === 'remove') {
          pending.remove(`n/${doing.name}`)
          known.delete(`n/${doing.name}`)
        } else if (doing.kind === 'put')
          putIt({
            apiVersion: 'v1',
            kind: 'Pod',
            metadata: {
              ...{ name: doing.name, namespace: 'n', uid: `${turns}`, generation: 1 },
              creationTimestamp: doing.made,
            },
            spec: { priority: doing.priority },
          } as unknown as Pod)
        else if (entry !== undefined) {
          const { metadata } = entry.pod
          entry.pod = {
            ...entry.pod,
            metadata: { ...metadata, generation: metadata.generation! + 1 },
          }
          pending.put(entry.pod)
          wake(entry)
        }
        assert.equal((await next())?.metadata.uid, expected()?.pod.metadata.uid)
      }
      const parked = [...known.values()].filter(({ parkedUntil }) => parkedUntil > now).length
      assert.equal(pending.counts().unschedulable, parked)
    }),
    { numRuns: 150 },
  )
  t.ok(tried > 1_000, `${tried} attempts`)
})

t.test('what no longer counts is forgotten, and what counts is not', async (t) => {
  const pod = (uid: string) =>
    ({ metadata: { name: 'p', namespace: 'n', uid }, spec: {} }) as unknown as Pod
  for (let times = 1; times <= 30; times++) {
    let now = 0
    const pending = new PendingPods(() => now, { initialMs: 1_000, longestMs: 10_000 })
    const next = async () => {
      const stop = new AbortController()
      const found = pending.next(new Set(), stop.signal)
      stop.abort()
      return (await found)?.metadata.uid
    }
    for (let i = 1; i <= times; i++) pending.put(pod(`${i}`))
    t.equal(await next(), `${times}`, 'made often')
    for (; now < times; now++) {
      pending.begin(pod(`${times}`))
      pending.failed(pod(`${times}`), { park: false })
    }
    t.equal(await next(), undefined)
    now += 10_000
    t.equal(await next(), `${times}`, 'tried often')
  }
})
