/**
 * Owners that were looked for and are not there. A uid comes back only with a snapshot that is restored, and then whoever
 * names it as an owner is seen anew.
 */
import { groupOf } from '#api/group-version.js'
import { limits } from '#limits'
import type { Identity } from './graph.js'

/** All of it counts: who names an owner wrongly finds nothing, and that says nothing of the one with this uid. */
const keyOf = ({ apiVersion, kind, namespace, name, uid }: Identity): string =>
  [groupOf(apiVersion), kind, namespace, name, uid].join('/')

export class AbsentOwners {
  readonly #keys = new Set<string>()

  /** The namespace is empty for an owner that is in none. */
  add(owner: Identity): void {
    this.#keys.add(keyOf(owner))
    if (this.#keys.size > limits.absentOwnersKept)
      this.#keys.delete(this.#keys.values().next().value!)
  }
  /** Somebody names it as an owner since: it is looked for again. */
  delete(owner: Identity): void {
    this.#keys.delete(keyOf(owner))
    this.#keys.delete(keyOf({ ...owner, namespace: '' }))
  }
  has(owner: Identity): boolean {
    return this.#keys.has(keyOf(owner))
  }
}
