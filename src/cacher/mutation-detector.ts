/**
 * With KUBE_CACHE_MUTATION_DETECTOR=true in the environment, as for client-go's caches: objects of the cache are frozen, so
 * that whoever writes into one fails at that place, and not some reader later. It costs time; tests run with it.
 */
import type { KubeObject } from '#api/object.js'

const isOn = process.env.KUBE_CACHE_MUTATION_DETECTOR === 'true'

export const deepFreeze = (value: unknown): void => {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return
  Object.freeze(value)
  for (const part of Object.values(value)) deepFreeze(part)
}

export const detectMutation = (object: KubeObject): void => {
  if (isOn) deepFreeze(object)
}
