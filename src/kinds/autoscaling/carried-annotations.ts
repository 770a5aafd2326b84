/** Annotations in which autoscaling/v1 carries what it has no fields for (kubernetes, pkg/apis/autoscaling/annotations.go). */
export const carriedPrefix = 'autoscaling.alpha.kubernetes.io/'
export const carriedKeys = ['metrics', 'behavior', 'conditions', 'current-metrics'] as const
export type CarriedKey = (typeof carriedKeys)[number]

const annotations = new Set(
  [...carriedKeys, 'scale-down-tolerance', 'scale-up-tolerance'].map((key) => carriedPrefix + key),
)

/** The annotations that are the user's own. */
export const withoutCarried = (given: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(given).filter(([key]) => !annotations.has(key)))
