import type { Pod } from '#client/pod.js'

export const priorityOf = (pod: Pod): number => pod.spec.priority ?? 0
