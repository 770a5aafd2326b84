const units: ReadonlySet<string> = new Set(['ns', 'us', 'µs', 'μs', 'ms', 's', 'm', 'h'])

/** What Go's time.ParseDuration says against a text, such as `time: invalid duration "x"`; undefined: nothing. */
export const durationProblem = (text: string): string | undefined => {
  const quoted = JSON.stringify(text)
  let rest = text.replace(/^[+-]/, '')
  if (rest === '0') return undefined
  if (rest === '') return `time: invalid duration ${quoted}`
  while (rest !== '') {
    const amount = /^(?:\d+\.?\d*|\.\d+)/.exec(rest)?.[0]
    if (amount === undefined) return `time: invalid duration ${quoted}`
    rest = rest.slice(amount.length)
    const unit = /^[^.\d]*/.exec(rest)![0]
    if (unit === '') return `time: missing unit in duration ${quoted}`
    if (!units.has(unit)) return `time: unknown unit ${JSON.stringify(unit)} in duration ${quoted}`
    rest = rest.slice(unit.length)
  }
  return undefined
}
