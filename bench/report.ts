/** What a run found, as lines of text. */
import type { Measured } from './runner.js'

/** One line of the table: the two sides of one kind of request. */
export interface Row {
  readonly name: string
  /** Requests a second. */
  readonly rates: readonly [number, number]
  /** Processor time of one request in µs; 0 when nobody knows. */
  readonly costs: readonly [number, number]
  readonly failed: readonly [number, number]
}

const nameWidth = 26

export const line = (name: string, text: string): void => {
  process.stdout.write(`${name.padEnd(nameWidth)}${text}\n`)
}

export const rowOf = (name: string, [a, b]: readonly [Measured, Measured]): Row => {
  const rate = ({ calls, ms }: Measured) => (calls / Math.max(1, ms)) * 1000
  const cost = ({ calls, cpuMs }: Measured) => (cpuMs * 1000) / Math.max(1, calls)
  return {
    name,
    rates: [rate(a), rate(b)],
    costs: [cost(a), cost(b)],
    failed: [a.failed, b.failed],
  }
}

/** Whole numbers, unless they would say nothing. */
export const printRate = (rate: number): string => rate.toFixed(rate < 10 ? 2 : 0)
const printCost = (cost: number): string => cost.toFixed(cost < 10 ? 1 : 0)

const columns = (values: readonly string[]): string => values.map((v) => v.padStart(12)).join('')

export const printHeads = (names: readonly [string, string]): void => {
  line('', columns([...names, 'ratio', 'µs cpu', 'µs cpu', 'ratio']))
}

export const printRow = ({ name, rates, costs, failed }: Row): void => {
  const ratio = (a: number, b: number) => (a > 0 && b > 0 ? (a / b).toFixed(2) : '-')
  const note = failed.some((n) => n > 0) ? `  failed: ${failed.join(', ')}` : ''
  const rate = [...rates.map(printRate), ratio(...rates)]
  // What a request costs the processor does not depend on how busy the machine and its disk are.
  const cost = [...costs.map((c) => (c > 0 ? printCost(c) : '-')), ratio(costs[1], costs[0])]
  line(name, columns([...rate, ...cost]) + note)
}

/** How the first side's cost of each request goes from few objects to many: 1.00 is what does not depend on them. */
export const printGrowth = (first: readonly Row[], last: readonly Row[]): void => {
  for (const { name, rates, costs } of last) {
    const before = first.find((row) => row.name === name)
    if (before === undefined) continue
    const rate = (rates[0] / before.rates[0]).toFixed(2)
    line(
      name,
      `${rate.padStart(10)} of the rate, ${(costs[0] / before.costs[0]).toFixed(2)} of the processor time`,
    )
  }
}

export const mebibytes = (bytes: number): string => `${(bytes / 1024 / 1024).toFixed(0)} MiB`
