/** How filters are made ready for a Pod. */
import type { Pod } from '#client/pod.js'
import type { ClusterView } from './cluster-state.js'
import type { Filter, Filters } from './filter.js'

/** Undefined when the filter has nothing to say about the Pod. */
export type Prepare = (pod: Pod, view: ClusterView) => Filter | undefined

/** What rules nodes out for the Pod. */
export const preparedFor = (pod: Pod, view: ClusterView, all: readonly Prepare[]): Filters =>
  all.flatMap((prepare) => prepare(pod, view) ?? [])
