/**
 * Owners that were looked for and are not there. A uid comes back only with a snapshot that is restored, and then whoever
 * names it as an owner is seen anew.
 */
import { limits } from '#limits'

export class AbsentOwners {
  readonly #keys = new Set<string>()

  /** A uid is absent in one namespace; the empty one stands for cluster scope. */
  add(uid: string, namespace: string): void {
    this.#keys.add(`${namespace}/${uid}`)
    if (this.#keys.size > limits.absentOwnersKept)
      this.#keys.delete(this.#keys.values().next().value!)
  }
  /** Somebody names it as an owner since: it is looked for again. */
  delete(uid: string, namespace: string): void {
    this.#keys.delete(`${namespace}/${uid}`)
    this.#keys.delete(`/${uid}`)
  }
  has(uid: string, namespace: string): boolean {
    return this.#keys.has(`${namespace}/${uid}`)
  }
}
