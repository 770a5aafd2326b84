/** Flags that turn parts of the API and of the metrics on and off, with kube-apiserver's names. */
import { gitVersionProblem } from '#api/build-info.js'
import { type Flag, type Flags, UsageError } from '#program/flags.js'
import { parseFeatureGates } from '#server/feature-gates.js'
import type { ServerOptions } from '#server/options.js'

export const apiFlags: readonly Flag[] = [
  {
    name: 'runtime-config',
    type: 'strings',
    help: 'built-in APIs to turn on or off, e.g. apps/v1=false, batch/v1/jobs=false, api/beta=false',
  },
  {
    name: 'feature-gates',
    type: 'strings',
    help: 'feature gates of v1.36, Name=true or Name=false; a warning names those that have no effect here',
  },
  { name: 'disabled-metrics', type: 'strings', help: 'names of metrics to leave out' },
  {
    name: 'version',
    type: 'string',
    default: 'false',
    check: (value) => (value === 'false' ? undefined : gitVersionProblem(value)),
    help: 'the version to tell clients, e.g. v1.36.3-custom; without a value it is printed, and nothing is started',
  },
]

const entryOf = (part: string): [string, string] => {
  const [key = '', value = ''] = part.split(/=(.*)/s)
  return [key.trim(), value.trim()]
}

/** Throws a UsageError. */
export const apiOptionsOf = (flags: Flags): ServerOptions => {
  const runtimeConfig = flags.list('runtime-config')
  const version = flags.text('version')
  try {
    return {
      ...(runtimeConfig && { runtimeConfig: Object.fromEntries(runtimeConfig.map(entryOf)) }),
      featureGates: parseFeatureGates(flags.list('feature-gates') ?? []),
      disabledMetrics: flags.list('disabled-metrics'),
      gitVersion: version === 'false' ? undefined : version,
    }
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}
