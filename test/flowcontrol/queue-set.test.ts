/** Fair queuing: who is let in, in which order, and who is refused. Time is the test's own. */
import fc from 'fast-check'
import t from 'tap'
import { FlowFigures } from '#flowcontrol/flow-figures.js'
import { FlowRequest, type WorkEstimate } from '#flowcontrol/flow-request.js'
import { InFlight } from '#flowcontrol/in-flight.js'
import { QueueSet, type QueueSetting } from '#flowcontrol/queue-set.js'

const about = { info: {}, user: {} } as never

type Occupancy = Pick<QueueSet, 'executing' | 'waiting' | 'seatsInUse' | 'seatsWaiting'>

interface Wanted extends Partial<WorkEstimate> {
  /** The only queue that its flow may wait in; missing: requests do not wait. */
  readonly queue?: number
}

/** Requests are known by their names, and `order` tells in which they were let in. */
const setOf = (setting: QueueSetting, seats: number) => {
  let now = 0
  const timers: { at: number; callback: () => void }[] = []
  let noted = ''
  const occupancy = ({ executing, waiting, seatsInUse, seatsWaiting }: Occupancy): string =>
    [executing, waiting, seatsInUse, seatsWaiting].join()
  const set = new QueueSet({
    now: () => now,
    later: (callback, ms) => void timers.push({ at: now + ms, callback }),
    changed: (changed) => {
      noted = occupancy(changed)
    },
  })
  const isNoted = (): boolean => noted === '' || noted === occupancy(set)
  set.configure(setting, seats)
  const figures = new FlowFigures('level', 'schema')
  const { readOnly: inFlight } = new InFlight(0)
  const order: string[] = []
  const requests = new Map<string, FlowRequest>()
  const start = (name: string, { queue, ...work }: Wanted = {}): FlowRequest => {
    const estimate = { initialSeats: 1, finalSeats: 0, lingerMs: 0, ...work }
    const flow = { figures, level: { queues: set }, distinguisherOf: () => '' }
    const request = new FlowRequest(about, flow, estimate, inFlight)
    request.decided = () => {
      if (request.state === 'executing') order.push(name)
    }
    requests.set(name, request)
    set.start(request, queue === undefined ? [] : [set.queue(queue)], now)
    return request
  }
  const pass = (ms: number): void => {
    now += ms
    for (const timer of timers.splice(0))
      if (timer.at <= now) timer.callback()
      else timers.push(timer)
  }
  const finish = (name: string): void => requests.get(name)!.leave(now)
  return { set, figures, inFlight, isNoted, order, start, pass, finish, requests, now: () => now }
}

const queuing = { queues: 8, handSize: 1, queueLengthLimit: 2 }
const queued: QueueSetting = { isExempt: false, queuing }

t.test('a flow pays for the time that its requests took', async (t) => {
  // As kube-apiserver 1.36.3 did it with a webhook that held the first.
  const { start, pass, finish, order } = setOf(queued, 1)
  t.equal(start('a1', { queue: 2 }).state, 'executing')
  for (const [queue, names] of [
    [2, ['a2', 'a3']],
    [7, ['b1', 'b2']],
  ] as const)
    for (const name of names) {
      pass(60)
      t.equal(start(name, { queue }).state, 'waiting')
    }
  t.equal(start('a4', { queue: 2 }).state, 'over', 'its queue is full')
  t.equal(start('b3', { queue: 7 }).state, 'over')
  for (const name of ['a1', 'b1', 'b2', 'a2', 'a3']) {
    pass(60)
    finish(name)
  }
  t.same(order, ['b1', 'b2', 'a2', 'a3'])
})

t.test(
  'flows whose requests take the same time have their turns one after the other',
  async (t) => {
    const limit = { ...queued, queuing: { ...queuing, queueLengthLimit: 10 } }
    const { start, pass, finish, order } = setOf(limit, 1)
    start('first', { queue: 0 })
    for (let i = 0; i < 6; i++) start(`many${i}`, { queue: 1 })
    for (let i = 0; i < 3; i++) start(`few${i}`, { queue: 2 })
    for (let last = 'first'; last !== undefined; last = order.at(-1)!) {
      pass(10)
      finish(last)
      if (order.at(-1) === last) break
    }
    t.same(
      order.slice(0, 6).map((name) => name.slice(0, -1)),
      ['many', 'few', 'many', 'few', 'many', 'few'],
    )
    t.equal(order.length, 9)
  },
)

t.test('what is wider than all seats goes alone, and those behind it wait for that', async (t) => {
  const { start, finish, order, figures } = setOf(queued, 2)
  start('one', { queue: 0 })
  t.equal(start('wide', { queue: 1, initialSeats: 5 }).state, 'waiting')
  t.equal(start('two', { queue: 1 }).state, 'waiting', 'a seat is free, but it is not its turn')
  t.ok(figures.unaccommodated > 0)
  finish('one')
  t.same(order, ['wide'])
  finish('wide')
  t.same(order, ['wide', 'two'])
})

t.test('seats stay taken behind an answer while watchers are told', async (t) => {
  const { start, pass, finish, order, set } = setOf(queued, 4)
  start('write', { queue: 0, finalSeats: 10, lingerMs: 10 })
  t.equal(set.seatsInUse, 4, 'no more than there are')
  t.equal(start('next', { queue: 0 }).state, 'waiting')
  finish('write')
  pass(24)
  t.same(order, [], 'but for longer')
  pass(1)
  t.same(order, ['next'])
  t.equal(set.seatsInUse, 1)
})

t.test('without queues what does not fit in is refused; the exempt always fit', async (t) => {
  const limited = setOf({ isExempt: false }, 1)
  t.equal(limited.start('one').state, 'executing')
  t.equal(limited.start('two').state, 'over')
  t.equal(limited.figures.refused['concurrency-limit'], 1)
  limited.finish('one')
  t.equal(limited.start('three', { initialSeats: 7 }).state, 'executing')
  const exempt = setOf({ isExempt: true }, 0)
  t.same(
    [1, 2, 3].map((name) => exempt.start(`${name}`).state).join(),
    'executing,executing,executing',
  )
})

t.test('fewer seats let nobody in until enough are free; more let waiting ones in', async (t) => {
  const { set, start, finish, order } = setOf(queued, 2)
  for (const name of ['a', 'b', 'c', 'd']) start(name, { queue: 0 })
  set.configure(queued, 1)
  finish('a')
  t.same(order, [])
  finish('b')
  t.same(order, ['c'])
  set.configure(queued, 2)
  t.same(order, ['c', 'd'])
})

const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ queue: fc.nat(3), initialSeats: fc.integer({ min: 1, max: 4 }) }),
  },
  { weight: 3, arbitrary: fc.record({ finish: fc.nat(20) }) },
  { weight: 1, arbitrary: fc.record({ cancel: fc.nat(20) }) },
  { weight: 2, arbitrary: fc.record({ pass: fc.nat(50) }) },
  { weight: 1, arbitrary: fc.record({ seats: fc.integer({ min: 1, max: 6 }) }) },
)

t.test('whatever comes and goes, seats are counted and nobody is forgotten', async () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
      let seats = 3
      const { set, figures, inFlight, isNoted, order, start, pass, requests, now } = setOf(
        { isExempt: false, queuing: { queues: 4, handSize: 1, queueLengthLimit: 3 } },
        seats,
      )
      let r = 0
      const all = () => [...requests.values()]
      const inState = (state: FlowRequest['state']) => all().filter((one) => one.state === state)
      const sum = (some: FlowRequest[]) => some.reduce((total, one) => total + one.seats, 0)
      const check = (): boolean => {
        const executing = inState('executing')
        const waiting = inState('waiting')
        const isCounted =
          set.executing === executing.length &&
          set.waiting === waiting.length &&
          set.seatsInUse === sum(executing) &&
          set.seatsWaiting === sum(waiting) &&
          figures.executingSeats === sum(executing) &&
          figures.waitingSeats === sum(waiting) &&
          inFlight.executing.value === executing.length &&
          inFlight.waiting.value === waiting.length &&
          isNoted()
        // Somebody is always at work while others wait.
        return isCounted && (waiting.length === 0 || executing.length > 0)
      }
      /** How fast virtual time passes: upstream's getVirtualTimeRatioLocked. */
      const speed = (): number => {
        const some = [...inState('executing'), ...inState('waiting')]
        const active = new Set(some.map(({ queue }) => queue)).size
        return active === 0 ? 0 : Math.min(sum(some), seats) / active
      }
      const isInTime = (): boolean => Math.abs(set.currentR - r) < 1e-9 * steps.length
      for (const [i, one] of steps.entries()) {
        const before = set.seatsInUse
        if ('queue' in one) start(`r${i}`, one)
        else if ('finish' in one) {
          const executing = inState('executing')
          if (executing.length > 0) executing[one.finish % executing.length]!.leave(now())
        } else if ('cancel' in one) {
          const waiting = inState('waiting')
          // The first of the queue that is served next may hold up others until something ends, as upstream's.
          if (waiting.length > 0) waiting[one.cancel % waiting.length]!.leave(now())
        } else if ('pass' in one) {
          r += (speed() * one.pass) / 1000
          pass(one.pass)
        } else {
          seats = one.seats
          set.configure(
            { isExempt: false, queuing: { queues: 4, handSize: 1, queueLengthLimit: 3 } },
            seats,
          )
        }
        const isWithin = set.seatsInUse <= Math.max(seats, before) || set.executing === 1
        if (!check() || !isWithin) return false
        if (('queue' in one || 'seats' in one) && !isInTime()) return false
      }
      for (let left = inState('executing'); left.length > 0; left = inState('executing'))
        left[0]!.leave(now())
      const states = new Set(all().map(({ state }) => state))
      const { refused, waits } = figures
      const turnedAway = refused['queue-full'] + refused['concurrency-limit']
      return (
        waits.true.count === all().length - turnedAway &&
        waits.false.count === turnedAway &&
        set.isIdle &&
        set.seatsInUse === 0 &&
        [...states].join() === (all().length > 0 ? 'over' : '') &&
        new Set(order).size === order.length
      )
    }),
  )
})
