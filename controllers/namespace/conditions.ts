/** The five conditions of a terminating namespace (kubernetes, namespace/deletion/status_condition_utils.go). */
import { type Condition, sinceWhen } from '#client/pod.js'

export interface Findings {
  /** Discovery failed, wholly or for some groups. */
  discoveryError?: string
  /** Errors of single deletes and lists. */
  contentErrors: string[]
  /** What is there still, by resource: its deletion has begun or was refused. */
  remaining: { resource: string; count: number }[]
  finalizers: { finalizer: string; count: number }[]
}

const counted = (entries: readonly { text: string; count: number }[]): string =>
  entries
    .filter((e) => e.count > 0)
    .map((e) => `${e.text} ${e.count} resource instances`)
    .sort()
    .join(', ')

type Row = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>
const row = (type: string, status: string, reason: string, message: string): Row => ({
  type,
  status,
  reason,
  message,
})

const rows = (f: Findings): Row[] => [
  f.discoveryError === undefined
    ? row(
        'NamespaceDeletionDiscoveryFailure',
        'False',
        'ResourcesDiscovered',
        'All resources successfully discovered',
      )
    : row(
        'NamespaceDeletionDiscoveryFailure',
        'True',
        'DiscoveryFailed',
        `Discovery failed for some groups, 1 failing: ${f.discoveryError}`,
      ),
  row(
    'NamespaceDeletionGroupVersionParsingFailure',
    'False',
    'ParsedGroupVersions',
    'All legacy kube types successfully parsed',
  ),
  f.contentErrors.length === 0
    ? row(
        'NamespaceDeletionContentFailure',
        'False',
        'ContentDeleted',
        'All content successfully deleted, may be waiting on finalization',
      )
    : row(
        'NamespaceDeletionContentFailure',
        'True',
        'ContentDeletionFailed',
        `Failed to delete all resource types, ${f.contentErrors.length} remaining: ${[...f.contentErrors].sort().join(', ')}`,
      ),
  f.remaining.length === 0
    ? row(
        'NamespaceContentRemaining',
        'False',
        'ContentRemoved',
        'All content successfully removed',
      )
    : row(
        'NamespaceContentRemaining',
        'True',
        'SomeResourcesRemain',
        `Some resources are remaining: ${counted(
          f.remaining.map((r) => ({ text: `${r.resource} has`, count: r.count })),
        )}`,
      ),
  f.finalizers.length === 0
    ? row(
        'NamespaceFinalizersRemaining',
        'False',
        'ContentHasNoFinalizers',
        'All content-preserving finalizers finished',
      )
    : row(
        'NamespaceFinalizersRemaining',
        'True',
        'SomeFinalizersRemain',
        `Some content in the namespace has finalizers remaining: ${counted(
          f.finalizers.map((r) => ({ text: `${r.finalizer} in`, count: r.count })),
        )}`,
      ),
]

/** The conditions as they should be, or undefined when nothing differs. */
export const namespaceConditions = (
  current: readonly Condition[],
  findings: Findings,
  now: string,
): Condition[] | undefined => {
  const known = new Map(current.map((c) => [c.type, c]))
  let changed = false
  for (const next of rows(findings)) {
    const previous = known.get(next.type)
    if (
      previous?.status === next.status &&
      previous.reason === next.reason &&
      previous.message === next.message
    )
      continue
    changed = true
    const lastTransitionTime = sinceWhen(previous, next.status, now)
    known.set(next.type, { ...next, lastTransitionTime })
  }
  return changed ? [...known.values()] : undefined
}
