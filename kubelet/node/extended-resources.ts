import type { Node } from '#client/pod.js'

/**
 * What a node's allocatable lacks of the resources that others tell of in its capacity, and with null what that has lost
 * again. The kubelet makes such resources allocatable as they are (kubernetes, nodestatus/setters.go, MachineInfo).
 */
export const extendedChanges = (
  own: Readonly<Record<string, string>>,
  { capacity = {}, allocatable = {} }: Node['status'],
): Record<string, string | null> => {
  const changes: Record<string, string | null> = {}
  for (const [name, amount] of Object.entries(capacity))
    if (!Object.hasOwn(own, name) && allocatable[name] !== amount) changes[name] = amount
  for (const name of Object.keys(allocatable))
    if (!Object.hasOwn(own, name) && !Object.hasOwn(capacity, name)) changes[name] = null
  return changes
}
