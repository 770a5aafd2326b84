/** `kubelevel timeline POD`: how a Pod lived and died, and what holds it up while it is Terminating. */
import { deletionAskedAt } from '#api/grace-period.js'
import type { PersistedObject } from '#api/object.js'
import { isNotFound } from '#client/errors.js'
import { type ResourceRef, resources } from '#client/resources.js'
import type { ProcessDeps, ProcessSpec } from '#client/run-process.js'
import { isAbout, lastSeenAt } from './events.js'
import { explainTerminating } from './explain.js'
import { followPod } from './follow.js'
import { type Step, timelineOf } from './timeline.js'
import { visible } from './visible.js'

interface TimelineOptions {
  readonly namespace: string
  readonly name: string
  /** Goes on until the Pod is gone. */
  readonly watch: boolean
  readonly print: (line: string) => void
}

type Deps = Pick<ProcessDeps, 'client' | 'clock' | 'signal'>

const coreEvents: ResourceRef = { ...resources.events, group: '' }

const getOr = <T>(wanted: Promise<T>): Promise<T | undefined> =>
  wanted.catch((error) => {
    if (isNotFound(error)) return undefined
    throw error
  })

/** One line: when, how long after `origin`, what. */
export const formatStep = ({ at, what, exact }: Step, origin: number): string => {
  const clock = new Date(at)
    .toISOString()
    .slice(11, exact ? 23 : 19)
    .padEnd(12)
  const sign = at < origin ? '-' : '+'
  const offset = `${sign}${(Math.abs(at - origin) / 1000).toFixed(exact ? 3 : 0)}s`
  return `${clock}  ${offset.padStart(10)}  ${visible(what)}`
}

/** Those about the Pod, or of the last of its name when it is gone. */
const findEvents = async (
  { client }: Deps,
  { namespace, name }: TimelineOptions,
  pod: PersistedObject | undefined,
): Promise<PersistedObject[]> => {
  const { items } = await client.list(coreEvents, { namespace })
  if (pod) return items.filter((event) => isAbout(event, pod))
  const named = items.filter(({ involvedObject: o }) => o?.kind === 'Pod' && o.name === name)
  const last = named.reduce<PersistedObject | undefined>(
    (a, b) => (a && (lastSeenAt(a) ?? 0) > (lastSeenAt(b) ?? 0) ? a : b),
    undefined,
  )
  return named.filter(({ involvedObject }) => involvedObject.uid === last?.involvedObject.uid)
}

const explain = async ({ client, clock }: Deps, pod: PersistedObject): Promise<string[]> => {
  const nodeName = pod.spec?.nodeName
  const node = nodeName ? await getOr(client.get(resources.nodes, { name: nodeName })) : undefined
  return explainTerminating({ pod, node, now: clock.now() })
}

/** Prints what is known, and says which Events those were; undefined when nothing is. */
const printPast = async (
  deps: Deps,
  options: TimelineOptions,
  pod: PersistedObject | undefined,
): Promise<Map<string, string> | undefined> => {
  const events = await findEvents(deps, options, pod)
  const steps = timelineOf(pod, events)
  if (steps.length === 0) return undefined
  const origin = (pod && deletionAskedAt(pod)) ?? steps[0]!.at
  for (const step of steps) options.print(formatStep(step, origin))
  if (!pod) options.print('The Pod is gone.')
  else for (const line of await explain(deps, pod)) options.print(line)
  return new Map(events.map(({ metadata }) => [metadata.uid, metadata.resourceVersion]))
}

/** Throws when neither the Pod nor an event of it is there. */
export const showTimeline = async (deps: Deps, options: TimelineOptions): Promise<void> => {
  const { namespace, name } = options
  const pod = await getOr(deps.client.get(resources.pods, { namespace, name }))
  const told = await printPast(deps, options, pod)
  if (!told) {
    throw new Error(`there is no Pod ${namespace}/${name}, nor an event that tells of one`)
  }
  if (!options.watch || !pod) return
  await followPod({
    ...deps,
    pod,
    told,
    events: coreEvents,
    tell: (step, origin) => options.print(formatStep({ ...step, exact: true }, origin)),
    explain: (now) => explain(deps, now),
    print: options.print,
  })
}

export const timelineProcess: ProcessSpec = {
  name: 'timeline',
  argument: 'POD',
  flags: [
    {
      name: 'namespace',
      short: 'n',
      type: 'string',
      help: 'namespace of the Pod (default: that of the kubeconfig)',
    },
    { name: 'watch', short: 'w', type: 'boolean', help: 'go on until the Pod is gone' },
  ],
  run: (deps, flags) =>
    showTimeline(deps, {
      namespace: flags.text('namespace') ?? deps.client.config.namespace,
      name: flags.argument,
      watch: flags.boolean('watch'),
      print: (line) => process.stdout.write(`${line}\n`),
    }),
}
