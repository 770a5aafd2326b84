/** How many Events may be written, on a clock of the test's own; the texts are those of kube-apiserver v1.36.3. */
import { getHeapStatistics, queryObjects } from 'node:v8'
import t from 'tap'
import { type EventLimit, eventRateLimit } from '#admission/event-rate-limit.js'
import { ApiError } from '#api/errors.js'
import type { AdmissionAttributes } from '#registry/admission.js'

interface Event {
  user?: string
  namespace?: string
  component?: string
  name?: string
  group?: string
  operation?: string
  dryRun?: boolean
}

const attributesOf = (event: Event): AdmissionAttributes => {
  const { user = 'ann', namespace = 'a', component = 'c', name = 'p', group = '' } = event
  const involvedObject = { kind: 'Pod', namespace, name, uid: 'u', apiVersion: 'v1' }
  return {
    operation: event.operation ?? 'CREATE',
    kind: { group, version: 'v1', kind: 'Event' },
    namespace,
    object: { metadata: {}, source: { component, host: 'h' }, involvedObject },
    ctx: { user: { name: user, groups: [] }, dryRun: event.dryRun ?? false },
  } as unknown as AdmissionAttributes
}

const startLimits = (...limits: EventLimit[]) => {
  let now = 1_000
  const plugin = eventRateLimit(limits, () => now)
  /** Why it may not; undefined: it may. */
  const write = (event: Event = {}): string | undefined => {
    try {
      plugin.validate!(attributesOf(event))
      return undefined
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      const { message, ...status } = error.status
      const always = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure' }
      t.same(status, { ...always, reason: 'TooManyRequests', code: 429 })
      return message
    }
  }
  const wait = (ms: number): void => {
    now += ms
  }
  return { write, wait }
}

const refused = (...reasons: string[]): string => {
  const texts = reasons.map((reason) => `limit reached on type ${reason}`)
  return `Too many requests: ${texts.length === 1 ? texts[0] : `[${texts.join(', ')}]`}`
}

t.test('a bucket of the server is emptied by all and filled again with time', async (t) => {
  const { write, wait } = startLimits({ type: 'Server', qps: 2, burst: 3 })
  for (const user of ['ann', 'bob', 'eve']) t.equal(write({ user, namespace: user }), undefined)
  t.equal(write(), refused('Server for key '))
  wait(499)
  t.equal(write(), refused('Server for key '))
  wait(1)
  t.equal(write(), undefined)
  t.equal(write(), refused('Server for key '))
  wait(60_000)
  for (let i = 0; i < 3; i++) t.equal(write(), undefined)
  t.equal(write(), refused('Server for key '), 'a rest fills it, and no more than that')
})

t.test('what is not an Event of the core group to be written is not counted', async (t) => {
  const { write } = startLimits({ type: 'Server', qps: 1, burst: 1 })
  const free: Event[] = [{ dryRun: true }, { group: 'events.k8s.io' }, { operation: 'DELETE' }]
  for (const event of [...free, ...free]) t.equal(write(event), undefined)
  t.equal(write({ operation: 'UPDATE' }), undefined)
  t.equal(write(), refused('Server for key '))
})

t.test('each namespace, user, and source with its object has a bucket of its own', async (t) => {
  const one = { qps: 1, burst: 1 }
  const cases: [EventLimit['type'], Event, string][] = [
    ['Namespace', { namespace: 'b' }, 'a'],
    ['User', { user: 'bob' }, 'ann'],
    ['SourceAndObject', { component: 'd' }, 'chPodapuv1'],
    ['SourceAndObject', { name: 'q' }, 'chPodapuv1'],
  ]
  for (const [type, other, key] of cases) {
    const { write } = startLimits({ type, ...one })
    t.equal(write(), undefined)
    t.equal(write(other), undefined)
    t.equal(write(), refused(`${type} for key ${key}`))
  }
})

t.test('all limits are counted, whichever refuses, and all that do are told', async (t) => {
  const { write } = startLimits(
    { type: 'User', qps: 1, burst: 2 },
    { type: 'Namespace', qps: 1, burst: 1 },
  )
  t.equal(write(), undefined)
  t.equal(write(), refused('Namespace for key a'))
  t.equal(write(), refused('User for key ann', 'Namespace for key a'))
})

t.test('a bucket that is forgotten begins again, and that of the longest rest is', async (t) => {
  const { write } = startLimits({ type: 'User', qps: 1, burst: 1, cacheSize: 2 })
  for (const user of ['ann', 'bob']) t.equal(write({ user }), undefined)
  t.type(write({ user: 'ann' }), 'string', 'asked for last')
  t.equal(write({ user: 'eve' }), undefined)
  t.type(write({ user: 'ann' }), 'string', 'still known')
  t.equal(write({ user: 'bob' }), undefined, 'forgotten')
})

t.test('of what Events say of their objects little is kept', async (t) => {
  const { write } = startLimits({ type: 'SourceAndObject', qps: 1, burst: 1 })
  const heap = (): number => {
    // Counts after a collection of garbage.
    queryObjects(URL)
    return getHeapStatistics().used_heap_size
  }
  const before = heap()
  for (let i = 0; i < 100; i++) t.equal(write({ name: `${i}${'n'.repeat(1_000_000)}` }), undefined)
  t.ok(heap() - before < 20_000_000)
  t.match(write({ name: `7${'n'.repeat(1_000_000)}` }), /limit reached on type SourceAndObject/)
})
