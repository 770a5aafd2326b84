/** What a watcher must see, worked out from the driver's whole history, independently of the cache. */
import type { KubeObject } from '#api/object.js'
import type { StorageEvent } from '#storage/driver.js'

export interface View {
  readonly prefix: string
  readonly label?: string
}

const sees = (view: View, value: Buffer | undefined): boolean => {
  if (value === undefined) return false
  const object = JSON.parse(String(value)) as KubeObject
  return view.label === undefined || object.metadata.labels?.app === view.label
}

/** `REVISION TYPE KEY STATE` of every event after `after`, in order. */
export const expectedEvents = (
  history: readonly StorageEvent[],
  view: View,
  after: number,
): string[] => {
  const lines: string[] = []
  for (const { revision, key, value, previous } of history) {
    if (revision <= after || !key.startsWith(view.prefix)) continue
    const is = sees(view, value?.value)
    const was = sees(view, previous?.value)
    const state = (bytes: Buffer) => (JSON.parse(String(bytes)) as KubeObject).spec.n
    if (is) lines.push(`${revision} ${was ? 'MODIFIED' : 'ADDED'} ${key} ${state(value!.value)}`)
    else if (was) lines.push(`${revision} DELETED ${key} ${state(previous!.value)}`)
  }
  return lines
}
