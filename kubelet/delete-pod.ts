/** Removes a Pod of the API that has ended here. */
import type { Client } from '#client/client.js'
import { isConflict, isNotFound } from '#client/errors.js'
import { resources } from '#client/resources.js'
import type { Pod } from './pod.js'

/** At once; yields its last state. A Pod that is gone already stays so, and one that has its name now is another. */
export const deletePod = async (client: Client, { metadata }: Pod): Promise<Pod | undefined> => {
  const options = { gracePeriodSeconds: 0, preconditions: { uid: metadata.uid } }
  try {
    return (await client.delete(resources.pods, metadata, options)) as Pod
  } catch (error) {
    if (!isNotFound(error) && !isConflict(error)) throw error
    return undefined
  }
}
