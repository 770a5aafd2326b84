/** How the server's seats are divided among levels of priority: with the figures of kube-apiserver 1.36.3. */
import fc from 'fast-check'
import t from 'tap'
import { allocateSeats } from '#flowcontrol/concurrency-allocation.js'
import { FlowDumps } from '#flowcontrol/dumps.js'
import { FlowControl } from '#flowcontrol/flow-control.js'
import { FlowRequest } from '#flowcontrol/flow-request.js'
import { InFlight } from '#flowcontrol/in-flight.js'
import type { LevelSpec } from '#flowcontrol/priority-level.js'

const level = (name: string, shares: number, rest: Partial<LevelSpec> = {}): LevelSpec => ({
  name,
  uid: '',
  isExempt: false,
  shares,
  lendablePercent: 0,
  ...rest,
})
const queuing = (handSize: number) => ({ queues: 64, handSize, queueLengthLimit: 50 })

/** Those that every server has. */
const bootstrap = [
  level('exempt', 0, { isExempt: true }),
  level('catch-all', 5),
  level('global-default', 20, { lendablePercent: 50, queuing: queuing(6) }),
  level('leader-election', 10, { queuing: queuing(4) }),
  level('node-high', 40, { lendablePercent: 25, queuing: queuing(6) }),
  level('system', 30, { lendablePercent: 33, queuing: queuing(6) }),
  level('workload-high', 40, { lendablePercent: 50, queuing: queuing(6) }),
  level('workload-low', 100, { lendablePercent: 90, queuing: queuing(6) }),
]

const about = { info: {}, user: {} } as never

const everybody = (name: string, of: string) => ({ name, uid: '', level: of, rules: [] })

const controlOf = (serverSeats: number, levels: readonly LevelSpec[]) => {
  let now = 0
  const control = new FlowControl({
    now: () => now,
    later: () => {},
    serverSeats,
    inFlight: new InFlight(now),
  })
  const schemas = levels.map(({ name }) => everybody(`${name}-schema`, name))
  control.configure(levels, schemas)
  const find = (name: string) => control.levels.find((one) => one.name === name)!
  const pass = (ms: number) => {
    now += ms
  }
  /** Takes seats of a level for as long as nobody ends it. */
  const take = (name: string, count: number) => {
    const { queues } = find(name)
    const figures = [...control.figures].find(({ level: of }) => of === name)!
    const flow = { figures, level: { queues }, distinguisherOf: () => '' }
    const work = { initialSeats: 1, finalSeats: 0, lingerMs: 0 }
    return Array.from({ length: count }, () => {
      const request = new FlowRequest(about, flow, work, control.inFlight.mutating)
      const hasQueues = find(name).spec.queuing !== undefined
      queues.start(request, hasQueues ? [queues.queue(0)] : [], 0)
      return request
    })
  }
  return { control, find, pass, take, schemas }
}

t.test("an idle server's levels have what upstream's have", async (t) => {
  const { control } = controlOf(600, bootstrap)
  const told = control.levels.map((one) =>
    [one.name, one.nominalSeats, one.lowerSeats, one.upperSeats, one.seats, one.widestSeats].join(),
  )
  t.same(told, [
    'catch-all,13,13,613,30,',
    'exempt,0,0,600,0,',
    'global-default,49,24,649,56,8',
    'leader-election,25,25,625,58,4',
    'node-high,98,73,698,170,15',
    'system,74,50,674,117,12',
    'workload-high,98,49,698,114,15',
    'workload-low,245,24,845,56,37',
  ])
  t.equal(control.fairFraction.toFixed(6), '2.333333')
})

t.test('a level that is busy borrows, gives back slowly, and never beyond its limit', async (t) => {
  const levels = [
    level('exempt', 0, { isExempt: true }),
    level('busy', 10, { borrowingLimitPercent: 50, queuing: queuing(1) }),
    level('idle', 10, { lendablePercent: 80 }),
    level('catch-all', 0),
  ]
  const { control, find, pass, take } = controlOf(20, levels)
  t.same([find('busy').nominalSeats, find('busy').upperSeats], [10, 15])
  const requests = take('busy', 40)
  const executing = () => requests.filter(({ state }) => state === 'executing').length
  t.equal(executing(), find('busy').seats)
  pass(10_000)
  control.adjust()
  t.equal(find('busy').seats, 15)
  t.equal(executing(), 15, 'those that waited are let in')
  t.equal(find('idle').seats, 5)
  for (const request of requests.slice().reverse()) request.leave(10_000)
  pass(10_000)
  control.adjust()
  pass(10_000)
  control.adjust()
  t.ok(find('busy').seats > 10, 'what it needed is not forgotten at once')
  for (let i = 0; i < 300; i++) {
    pass(10_000)
    control.adjust()
  }
  t.ok(find('busy').seats <= 15)
  t.equal(find('busy').use.demand.highWatermark, 0)
})

t.test(
  'a level that is gone serves its requests to the end, and then its seats are shared',
  async (t) => {
    const levels = [level('exempt', 0, { isExempt: true }), level('a', 1), level('b', 1)]
    const { control, find, take } = controlOf(20, levels)
    const [request] = take('a', 1)
    const rest = levels.filter(({ name }) => name !== 'a')
    control.configure(rest, [everybody('b', 'b')])
    t.ok(find('a').isQuiescing)
    t.equal(find('b').nominalSeats, 10)
    request!.leave(0)
    t.equal(find('a'), undefined)
    t.equal(find('b').nominalSeats, 20)
  },
)

t.test('schemas that come and go leave nothing but what they counted', async (t) => {
  const levels = [level('exempt', 0, { isExempt: true }), level('a', 1)]
  const { control } = controlOf(20, levels)
  const names = () => [...control.figures].map(({ schema }) => schema)
  for (const name of ['used', 'unused', 'next']) {
    control.configure(levels, [everybody(name, 'a')])
    if (name === 'used') control.classify({} as never, {} as never).figures.seats.observe(1)
  }
  t.same(names(), ['used', 'next'])
})

t.test('seats are divided by one multiple of all targets, within all bounds', async () => {
  const claim = fc.tuple(fc.nat(50), fc.nat(50), fc.nat(100)).map(([lowerBound, more, above]) => ({
    lowerBound,
    upperBound: lowerBound + above,
    target: lowerBound + more,
  }))
  fc.assert(
    fc.property(fc.array(claim, { minLength: 1, maxLength: 8 }), fc.nat(900), (claims, sum) => {
      const lowest = claims.reduce((total, one) => total + one.lowerBound, 0)
      const highest = claims.reduce((total, one) => total + one.upperBound, 0)
      const allocation = allocateSeats(sum, claims)
      if (sum < lowest || sum > highest) return allocation === undefined
      const { seats, fairFraction } = allocation!
      const isClose = (a: number, b: number) => Math.abs(a - b) < 1e-6 * Math.max(1, sum)
      const total = seats.reduce((all, one) => all + one, 0)
      return (
        isClose(total, sum) &&
        claims.every(({ lowerBound, upperBound, target }, i) => {
          const fair = fairFraction * Math.max(target, 0.001)
          return (
            sum === 0 ||
            (isClose(seats[i]!, lowerBound) && fair <= lowerBound + 1e-6) ||
            (isClose(seats[i]!, upperBound) && fair >= upperBound - 1e-6) ||
            isClose(seats[i]!, fair)
          )
        })
      )
    }),
  )
})

const wideLevel = (queues: number) =>
  level('wide', 5, { queuing: { queues, handSize: 1, queueLengthLimit: 1 } })

t.test('the table of queues has a row for each', async (t) => {
  const { control, take } = controlOf(600, [wideLevel(2_345)])
  take('wide', 1)
  let text = ''
  for await (const piece of new FlowDumps(control).queues()) text += piece
  const lines = text.split('\n')
  t.equal(lines.length, 2_345 + 2)
  const places = lines.slice(0, -1).map((line) => line.lastIndexOf(' '))
  t.equal(new Set(places).size, 1, 'in columns')
  t.match(lines[1], /^wide, +0, +0, +1, +1, +0\.003\d+ss, +0, +0, +0\.0+ss$/)
  t.match(lines[2_345], /^wide, +2344, +0, +0, +0, +0\.0+ss, +0, +0, +0\.0+ss$/)
})

t.test('it is told piece by piece, so that ten million fit into memory', async (t) => {
  const { control } = controlOf(600, [wideLevel(10_000_000)])
  const pieces = new FlowDumps(control).queues()
  await pieces.next()
  const before = process.memoryUsage().heapUsed
  for (let i = 0; i < 50; i++) {
    const { value } = await pieces.next()
    t.equal(String(value).split('\n').length, 101)
  }
  await pieces.return()
  t.ok(process.memoryUsage().heapUsed - before < 100_000_000)
})
