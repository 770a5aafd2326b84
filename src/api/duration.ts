import { goQuote } from './go-quote.js'

const units: ReadonlyMap<string, number> = new Map([
  ['ns', 1e-6],
  ['us', 1e-3],
  ['µs', 1e-3],
  ['μs', 1e-3],
  ['ms', 1],
  ['s', 1000],
  ['m', 60_000],
  ['h', 3_600_000],
])

/** Milliseconds of a duration that has no problem. */
export const durationMs = (text: string): number => {
  let sum = 0
  for (const [, amount, unit] of text.matchAll(/([\d.]+)([^.\d]+)/g))
    sum += Number(amount) * units.get(unit!)!
  return text.startsWith('-') ? -sum : sum
}

/** What Go's time.ParseDuration says against a text, such as `time: invalid duration "x"`; undefined: nothing. */
export const durationProblem = (text: string): string | undefined => {
  const quoted = goQuote(text)
  let rest = text.replace(/^[+-]/, '')
  if (rest === '0') return undefined
  if (rest === '') return `time: invalid duration ${quoted}`
  while (rest !== '') {
    const amount = /^(?:\d+\.?\d*|\.\d+)/.exec(rest)?.[0]
    if (amount === undefined) return `time: invalid duration ${quoted}`
    rest = rest.slice(amount.length)
    const unit = /^[^.\d]*/.exec(rest)![0]
    if (unit === '') return `time: missing unit in duration ${quoted}`
    if (!units.has(unit)) return `time: unknown unit ${goQuote(unit)} in duration ${quoted}`
    rest = rest.slice(unit.length)
  }
  return undefined
}
