/** The five conditions of a terminating namespace (kubernetes, namespace/deletion/status_condition_utils.go). */
import { type Condition, sinceWhen } from '#api/conditions.js'

export interface Findings {
  /** Discovery failed, wholly or for some groups. */
  discoveryError?: string
  /** Errors of single deletes and lists. */
  contentErrors: string[]
  /** What is still there, by resource: its deletion has begun or was refused. */
  remaining: { resource: string; count: number }[]
  finalizers: { finalizer: string; count: number }[]
}

const counted = (entries: readonly { text: string; count: number }[]): string =>
  entries
    .filter((e) => e.count > 0)
    .map((e) => `${e.text} ${e.count} resource instances`)
    .sort()
    .join(', ')

interface Check {
  readonly type: string
  /** Reason and message where nothing is wrong. */
  readonly fine: readonly [reason: string, message: string]
  /** Undefined if nothing can be wrong. */
  readonly wrong?: {
    readonly reason: string
    /** Undefined where nothing is wrong. */
    message(findings: Findings): string | undefined
  }
}

const checks: readonly Check[] = [
  {
    type: 'NamespaceDeletionDiscoveryFailure',
    fine: ['ResourcesDiscovered', 'All resources successfully discovered'],
    wrong: {
      reason: 'DiscoveryFailed',
      message: ({ discoveryError }) =>
        discoveryError === undefined
          ? undefined
          : `Discovery failed for some groups, 1 failing: ${discoveryError}`,
    },
  },
  {
    type: 'NamespaceDeletionGroupVersionParsingFailure',
    fine: ['ParsedGroupVersions', 'All legacy kube types successfully parsed'],
  },
  {
    type: 'NamespaceDeletionContentFailure',
    fine: ['ContentDeleted', 'All content successfully deleted, may be waiting on finalization'],
    wrong: {
      reason: 'ContentDeletionFailed',
      message: ({ contentErrors: errors }) =>
        errors.length === 0
          ? undefined
          : `Failed to delete all resource types, ${errors.length} remaining: ${[...errors].sort().join(', ')}`,
    },
  },
  {
    type: 'NamespaceContentRemaining',
    fine: ['ContentRemoved', 'All content successfully removed'],
    wrong: {
      reason: 'SomeResourcesRemain',
      message: ({ remaining }) =>
        remaining.length === 0
          ? undefined
          : `Some resources are remaining: ${counted(
              remaining.map(({ resource, count }) => ({ text: `${resource} has`, count })),
            )}`,
    },
  },
  {
    type: 'NamespaceFinalizersRemaining',
    fine: ['ContentHasNoFinalizers', 'All content-preserving finalizers finished'],
    wrong: {
      reason: 'SomeFinalizersRemain',
      message: ({ finalizers }) =>
        finalizers.length === 0
          ? undefined
          : `Some content in the namespace has finalizers remaining: ${counted(
              finalizers.map(({ finalizer, count }) => ({ text: `${finalizer} in`, count })),
            )}`,
    },
  },
]

const resultOf = (
  { type, fine, wrong }: Check,
  findings: Findings,
): Pick<Condition, 'type' | 'status' | 'reason' | 'message'> => {
  const message = wrong?.message(findings)
  return wrong === undefined || message === undefined
    ? { type, status: 'False', reason: fine[0], message: fine[1] }
    : { type, status: 'True', reason: wrong.reason, message }
}

/** The conditions as they should be, or undefined when nothing differs. */
export const namespaceConditions = (
  current: readonly Condition[],
  findings: Findings,
  now: string,
): Condition[] | undefined => {
  const known = new Map(current.map((c) => [c.type, c]))
  let changed = false
  for (const check of checks) {
    const next = resultOf(check, findings)
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
