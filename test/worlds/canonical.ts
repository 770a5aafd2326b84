/** A state without what may differ between two clusters that have done the same: times, uids, addresses, and what chance has named. */
import type { PersistedObject } from '#api/object.js'
import type { State } from './state.js'

/** Fields, labels and annotations that tell when or where, or count what came in its own time. */
const chance = new Set([
  ...['uid', 'resourceVersion', 'creationTimestamp', 'managedFields', 'selfLink'],
  ...['lastTransitionTime', 'lastProbeTime', 'lastUpdateTime', 'lastScheduleTime'],
  ...[
    'lastHeartbeatTime',
    'lastPhaseTransitionTime',
    'timeAdded',
    'allocationTimestamp',
    'lastScaleTime',
  ],
  ...['startTime', 'startedAt', 'finishedAt', 'completionTime', 'completedAt'],
  ...['podIP', 'podIPs', 'hostIP', 'hostIPs', 'ip', 'clusterIP', 'clusterIPs', 'nodeName'],
  ...['nodePort', 'healthCheckNodePort'],
  ...['controller-uid', 'batch.kubernetes.io/controller-uid'],
  ...['pod-template-hash', 'controller-revision-hash', 'currentRevision', 'updateRevision'],
  ...['endpoints.kubernetes.io/last-change-trigger-time', 'disruptedPods', 'ca.crt'],
])
/** In whatever order they are told. */
const sets = new Set([
  'subsets',
  'addresses',
  'endpoints',
  'notReadyAddresses',
  'ownerReferences',
  'volumesAttached',
])

const chanceName = '[bcdfghjklmnpqrstvwxz2456789]{5}'
const masks: readonly (readonly [RegExp, string])[] = [
  [/[\da-f]{8}-[\da-f]{4}-[\da-f-]+/g, 'UID'],
  [/\b10\.\d+\.\d+\.\d+/g, 'IP'],
  [/\bfd00:[\da-f:]+/g, 'IP6'],
  [/\bn[123]\b/g, 'NODE'],
  [/\d+ node\(s\)/g, 'some node(s)'],
  // Also nodes of other scripts, which differ in nothing else.
  [
    /some node\(s\) (?:had untolerated taint\(s\)|didn't match Pod's node affinity\/selector)(?:, )?/g,
    '',
  ],
  [/0\/\d+ nodes are/g, '0 nodes are'],
  [/\d+ Preemption is not/g, 'Preemption is not'],
  // Upstream names them as Go walks a map.
  [/Chose "[^"]*" arbitrarily/g, 'Chose one arbitrarily'],
  [/found no controllers for pod "[^"]*"/g, 'found no controllers for a pod'],
  [/multiple HPAs: \[[^\]]*\]/g, 'multiple HPAs'],
  // As a type check calls the types of kinds.
  [/\b([A-Z][A-Za-z]+)\d+(?=[.)])/g, '$1#'],
  [/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME'],
  [new RegExp(`\\bkube-api-access-${chanceName}`, 'g'), 'kube-api-access-*'],
  // A Pod of a Deployment, then the Deployment's sets, then what anything else has made.
  [new RegExp(`\\bdeployed-[a-z\\d]{6,10}-${chanceName}\\b`, 'g'), 'deployed-SET-*'],
  [/\bdeployed-[a-z\d]{6,10}\b/g, 'deployed-SET'],
  [new RegExp(`\\b([a-z-]+(?:-#?\\d+)?)-${chanceName}\\b`, 'g'), '$1-*'],
  [/\b(stateful|everywhere)-[a-z\d]{6,10}\b/g, '$1-REVISION'],
]

/** A set of a Deployment is known by its revision. */
const revisionsOf = (state: State): Map<string, string> => {
  const names = new Map<string, string>()
  for (const { metadata } of state.ReplicaSet ?? []) {
    const revision = metadata.annotations?.['deployment.kubernetes.io/revision']
    if (revision !== undefined) names.set(metadata.name, `set-#${revision}`)
  }
  return names
}

/** Annotations that were all made by chance are as none. */
const isByChance = (name: string, field: unknown): boolean =>
  name === 'annotations' && Object.keys(field ?? {}).every((key) => chance.has(key))

const canonicalValue = (value: unknown, key: string, text: (value: string) => string): unknown => {
  if (typeof value === 'string') return text(value)
  if (Array.isArray(value)) {
    const items = value.map((item) => canonicalValue(item, '', text))
    return sets.has(key) ? items.sort(byJson) : items
  }
  if (typeof value !== 'object' || value === null) return value
  const fields = Object.entries(value)
    // How often what a controller has made was changed is up to the moment.
    .filter(
      ([name, field]) =>
        !chance.has(name) &&
        !isByChance(name, field) &&
        !(name === 'generation' && 'generateName' in value),
    )
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, field]) => [
      text(name),
      name === 'deletionTimestamp' ? 'set' : canonicalValue(field, name, text),
    ])
  return Object.fromEntries(fields)
}

const byJson = (a: unknown, b: unknown): number => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)

/** How often an Event came counts for nothing: one that is told twice within a second is told once. */
const toldBy = (event: PersistedObject): unknown => {
  // biome-ignore lint/suspicious/noExplicitAny: fields of Events
  const { type, reason, regarding, note, reportingController, action } = event as any
  const { kind, name, fieldPath } = regarding
  return { type, reason, regarding: { kind, name, fieldPath }, note, reportingController, action }
}

/** A text without what chance has named. */
export const masked = (value: string): string =>
  masks.reduce((text, [pattern, mask]) => text.replace(pattern, mask), value)

export const lineOf = (object: unknown, text = masked): string =>
  JSON.stringify(canonicalValue(object, '', text))

/** The lines of a state: one for each object, sorted; of Events one for each that differs from the others. */
export const canonical = (state: State): Record<string, string[]> => {
  const revisions = revisionsOf(state)
  const text = (value: string): string =>
    masked(
      [...revisions].reduce((known, [name, revision]) => known.replaceAll(name, revision), value),
    )
  return Object.fromEntries(
    Object.entries(state).map(([kind, objects]) => {
      const lines = objects.map((object) =>
        lineOf(kind === 'Event' ? toldBy(object) : object, text),
      )
      return [kind, (kind === 'Event' ? [...new Set(lines)] : lines).sort()]
    }),
  )
}
