/** A life as data: a Pod, and what happens to it. */

// biome-ignore lint/suspicious/noExplicitAny: lives write any field
export type Body = Record<string, any>

/**
 * A verb and its words: until (ready, gone, restarted, a phase, waiting and a reason, said and what a container says), sleep,
 * delete (with a grace or without), evict, hold and release (a finalizer), patch (one of the life's patches), kubelet stops
 * (by a signal) and starts (with flags or without), server away. Times are in seconds.
 */
export type Step = string

interface Patch {
  readonly spec: Body
  readonly subresource?: string
}

export interface Life {
  readonly name: string
  readonly spec: Body
  readonly steps: readonly Step[]
  /** By what the steps call them. */
  readonly patches: Readonly<Record<string, Patch>>
}

/** What other Pods of the nodes would feel, so that it has to happen alone. */
export const disturbs = ({ steps }: Life): boolean =>
  steps.some((step) => /^(kubelet|server)/.test(step))

export const titleOf = ({ name, steps }: Life): string => `${name}: ${steps.join(', ')}`

const verbs = /^(until|sleep|delete|evict|hold|release|patch|kubelet (stops|starts)|server away)\b/

/** `steps` in order, with commas between them. */
export const life = (
  name: string,
  containers: readonly Body[],
  spec: Body = {},
  steps = 'until ready, sleep 1, delete, until gone',
  patches: Life['patches'] = {},
): Life => {
  const list = steps.split(', ')
  const unknown = list.filter((step) => !verbs.test(step))
  if (unknown.length > 0) throw new Error(`${name}: ${unknown.join()} means nothing`)
  const own = { terminationGracePeriodSeconds: 3, containers, ...spec }
  return { name, spec: own, steps: list, patches }
}
