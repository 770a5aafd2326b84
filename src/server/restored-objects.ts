/** What a restore of a snapshot has to know about objects. */
import { type Clock, formatTime } from '#api/clock.js'
import type { KubeObject } from '#api/object.js'
import { decodeObject, encodeObject } from '#cacher/object-bytes.js'
import type { ResourceTable } from '#registry/resource-table.js'
import type { ValuesOfObjects } from '#storage/snapshot.js'

interface RestoredObjectsDeps {
  readonly table: ResourceTable
  /** Turns values that kube-apiserver stored into our JSON. */
  readonly readForeign: (value: Buffer) => Buffer
  readonly clock: Clock
}

const podsOf = '/registry/pods/'

export const restoredObjects = ({
  table,
  readForeign,
  clock,
}: RestoredObjectsDeps): ValuesOfObjects => {
  const expiring = [...table].filter(({ ttlSeconds }) => ttlSeconds !== undefined)
  const objectOf = (value: Buffer): KubeObject | undefined => {
    try {
      return decodeObject(readForeign(value), 0)
    } catch {
      return undefined
    }
  }
  return {
    uidOf: (value) => objectOf(value)?.metadata?.uid,
    // A snapshot does not record how much time was left, so lifetimes start anew.
    ttlSecondsOf: (key) =>
      expiring.find(({ storagePrefix }) => key.startsWith(`${storagePrefix}/`))?.ttlSeconds,
    // A kubelet ends a Pod at once if it was last shown without grace, as after a forced delete.
    lastShownOf: (key, value) => {
      const pod = key.startsWith(podsOf) ? objectOf(value) : undefined
      if (!pod?.spec?.nodeName || pod.metadata.deletionGracePeriodSeconds === 0) return undefined
      const end = { deletionTimestamp: formatTime(clock.now()), deletionGracePeriodSeconds: 0 }
      return encodeObject({ ...pod, metadata: { ...pod.metadata, ...end } }).value
    },
  }
}
