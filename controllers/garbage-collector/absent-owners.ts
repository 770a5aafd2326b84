/** Owners that were looked for and are not there: uids never come back, so this needs no end but its size. */
import { limits } from '#limits'

export class AbsentOwners {
  readonly #keys = new Set<string>()

  /** A uid is absent in one namespace; the empty one stands for cluster scope. */
  add(uid: string, namespace: string): void {
    this.#keys.add(`${namespace}/${uid}`)
    if (this.#keys.size > limits.absentOwnersKept)
      this.#keys.delete(this.#keys.values().next().value!)
  }
  has(uid: string, namespace: string): boolean {
    return this.#keys.has(`${namespace}/${uid}`)
  }
}
