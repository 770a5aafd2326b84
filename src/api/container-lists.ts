/** The three lists of containers that a pod spec has. */
import type { Fields } from './object.js'

export const containerLists = ['initContainers', 'containers', 'ephemeralContainers'] as const

/** Whether any container is of this sort: what few pods have is looked at by path only where it is. */
export const hasContainer = (spec: Fields, is: (container: Fields) => boolean): boolean =>
  containerLists.some((list) => (spec[list] as Fields[] | undefined)?.some(is) ?? false)
