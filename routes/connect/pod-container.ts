/** The container of a Pod that is meant. */
import { badRequest } from '#api/errors.js'
import type { KubeObject } from '#api/object.js'

const namesOf = (list: { name: string }[] | undefined): string[] =>
  (list ?? []).map(({ name }) => name)

export const containerOf = (pod: KubeObject, wanted: string): string => {
  const { containers, initContainers, ephemeralContainers } = pod.spec
  const { name } = pod.metadata
  const mains = namesOf(containers)
  const all = [...namesOf(initContainers), ...mains, ...namesOf(ephemeralContainers)]
  if (wanted) {
    if (all.includes(wanted)) return wanted
    throw badRequest(`container ${wanted} is not valid for pod ${name}`)
  }
  if (mains.length === 1) return mains[0]!
  throw badRequest(
    `a container name must be specified for pod ${name}, choose one of: [${all.join(' ')}]`,
  )
}
