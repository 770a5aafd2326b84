/** Flags that say which of the API and of the metrics is there, with kube-apiserver's names. */
import { type Flag, type Flags, UsageError } from '#api/flags.js'
import { parseFeatureGates } from '#server/feature-gates.js'
import type { ServerOptions } from '#server/options.js'

export const apiFlags: readonly Flag[] = [
  {
    name: 'runtime-config',
    type: 'strings',
    help: 'built-in APIs that are served or not: apps/v1=false, batch/v1/jobs=false, api/beta=false',
  },
  {
    name: 'feature-gates',
    type: 'strings',
    help: "Name=true or false; those of v1.36 are known, and a warning names what can't be switched here",
  },
  { name: 'disabled-metrics', type: 'strings', help: 'names of metrics that are not told' },
]

const entryOf = (part: string): [string, string] => {
  const [key = '', value = ''] = part.split(/=(.*)/s)
  return [key.trim(), value.trim()]
}

/** Throws a UsageError. */
export const apiOptionsOf = (flags: Flags): ServerOptions => {
  const runtimeConfig = flags.list('runtime-config')
  try {
    return {
      ...(runtimeConfig && { runtimeConfig: Object.fromEntries(runtimeConfig.map(entryOf)) }),
      featureGates: parseFeatureGates(flags.list('feature-gates') ?? []),
      disabledMetrics: flags.list('disabled-metrics'),
    }
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}
