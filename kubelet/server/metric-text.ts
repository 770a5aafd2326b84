/** Metrics in Prometheus' text form. */

export type Labels = Readonly<Record<string, string>>
export interface Sample {
  readonly labels: Labels
  readonly value: number
  /** Milliseconds since the epoch; missing, the sample is of now. */
  readonly atMs?: number
}

export const metricsType = 'text/plain; version=0.0.4; charset=utf-8'

const escaped = (value: string): string =>
  value.replace(/\\/g, '\\\\').replace(/"/g, '\\"').replace(/\n/g, '\\n')

const lineOf = (name: string, { labels, value, atMs }: Sample): string => {
  const pairs = Object.entries(labels).map(([key, text]) => `${key}="${escaped(text)}"`)
  const shown = pairs.length === 0 ? name : `${name}{${pairs.join(',')}}`
  return `${shown} ${value}${atMs === undefined ? '' : ` ${Math.round(atMs)}`}`
}

/** `help` begins with how stable the metric is, as upstream's do. */
export const metricText = (name: string, help: string, samples: readonly Sample[]): string => {
  const type = name.endsWith('_total') ? 'counter' : 'gauge'
  const head = `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`
  return `${head}${samples.map((sample) => `${lineOf(name, sample)}\n`).join('')}`
}
