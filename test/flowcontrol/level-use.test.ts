/** What a level tells of its use is what it would have if it were asked at every moment. */
import fc from 'fast-check'
import t from 'tap'
import { InFlight } from '#flowcontrol/in-flight.js'
import { LevelUse } from '#flowcontrol/level-use.js'
import { RatioHistogram } from '#flowcontrol/ratio-histogram.js'
import { SeatDemand } from '#flowcontrol/seat-demand.js'
import type { HistogramFigures } from '#metrics/histogram.js'

const count = fc.nat(40)
const step = fc.record({
  executing: count,
  /** Beyond one for each request. */
  moreSeats: fc.oneof(fc.constant(0), count),
  waiting: fc.oneof(fc.constant(0), count),
  seatsWaiting: count,
  ms: fc.nat(1_000),
  after: fc.constantFrom('', 'sum up', 'set wholes', 'account'),
  whole: fc.integer({ min: 1, max: 30 }),
})

const isClose = (a: number, b: number): boolean => Math.abs(a - b) <= 1e-6 * Math.max(1, a, b)

const isSame = (a: HistogramFigures, b: HistogramFigures): boolean =>
  isClose(a.sum, b.sum) &&
  isClose(a.count, b.count) &&
  a.buckets.every((times, i) => isClose(times, b.buckets[i]!))

const histograms = ['demandRatio', 'seatRatio', 'executingRatio', 'waitingRatio'] as const

t.test('of a level', async () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      let now = 0
      const use = new LevelUse(now)
      const demand = new SeatDemand()
      const expected = Object.fromEntries(
        histograms.map((name) => [name, new RatioHistogram(use[name].figures.bounds)]),
      ) as Record<(typeof histograms)[number], RatioHistogram>
      let highest = 0
      return steps.every((one) => {
        const { executing, ms, after, whole } = one
        const waiting = one.waiting
        const seatsWaiting = waiting === 0 ? 0 : one.seatsWaiting
        const seatsInUse = executing + one.moreSeats
        const wanted = seatsInUse + seatsWaiting
        use.note({ executing, waiting, seatsInUse, seatsWaiting }, now)
        highest = Math.max(highest, wanted)
        now += ms
        expected.demandRatio.add(wanted, ms)
        expected.seatRatio.add(seatsInUse, ms)
        expected.executingRatio.add(executing, ms)
        expected.waitingRatio.add(waiting, ms)
        demand.add(wanted, ms)
        if (after === '') return true
        if (after === 'sum up') {
          use.sumUp(now)
          demand.sumUp(highest)
          highest = wanted
        } else if (after === 'account') use.account(now)
        else {
          use.setWholes(whole, 2 * whole, now)
          for (const name of histograms)
            expected[name].denominator = name === 'waitingRatio' ? 2 * whole : whole
        }
        const { highWatermark, average, deviation, smoothed } = use.demand
        return (
          histograms.every((name) => isSame(use[name].figures, expected[name].figures)) &&
          highWatermark === demand.highWatermark &&
          isClose(average, demand.average) &&
          // The square root of what rounding leaves.
          Math.abs(deviation - demand.deviation) < 1e-4 &&
          Math.abs(smoothed - demand.smoothed) < 1e-4
        )
      })
    }),
  )
})

t.test('of the requests of one kind', async () => {
  const change = fc.record({
    to: count,
    ms: fc.nat(400),
    whole: fc.option(step.map((one) => one.whole)),
  })
  fc.assert(
    fc.property(fc.array(change, { maxLength: 40 }), (changes) => {
      let now = 0
      let highest = 0
      const inFlight = new InFlight(now)
      const { executing } = inFlight.mutating
      const expected = new RatioHistogram(executing.use(now).bounds)
      return changes.every(({ to, ms, whole }) => {
        executing.add(to - executing.value, now)
        highest = Math.max(highest, to)
        now += ms
        expected.add(to, ms)
        if (whole === null) return true
        inFlight.endSecond()
        const isHighest = executing.highest === highest
        highest = to
        executing.setWhole(whole, now)
        expected.denominator = whole
        return isHighest && isSame(executing.use(now), expected.figures)
      })
    }),
  )
})
