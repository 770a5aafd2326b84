/**
 * Mutating plugins run a second time when a webhook changed the object after others had seen it; of the webhooks only
 * those that ask for it and were there the first time (apiserver, pkg/admission/reinvocation.go, plugin/webhook/mutating).
 */
import { cloneJson, jsonEqual } from '#api/json-object.js'
import type { JsonObject, JsonValue } from '#api/object.js'
import type { AdmissionAttributes } from '#registry/admission.js'

export class Reinvocation {
  /** The second round runs. */
  isSecond = false
  /** A webhook changed the object. */
  isNeeded = false
  #asked = new Set<string>()
  readonly #again = new Set<string>()
  #output: JsonValue | undefined

  /** Called when a round of webhooks begins: what other plugins changed since the last one counts, too. */
  begin({ object }: AdmissionAttributes): void {
    if (this.isSecond && !jsonEqual(this.#output, object ?? null)) this.#requireAll()
  }

  end({ object }: AdmissionAttributes): void {
    this.#output = object && cloneJson(object as unknown as JsonObject)
  }

  mayAsk(webhook: string): boolean {
    return !this.isSecond || this.#again.has(webhook)
  }

  /** `policy` is the webhook's reinvocationPolicy. */
  asked(webhook: string, policy: string | undefined, hasChanged: boolean): void {
    if (hasChanged) {
      this.#requireAll()
      this.isNeeded = true
    }
    if (policy === 'IfNeeded') this.#asked.add(webhook)
  }

  #requireAll(): void {
    for (const webhook of this.#asked) this.#again.add(webhook)
    this.#asked = new Set()
  }
}

const known = new WeakMap<AdmissionAttributes, Reinvocation>()

export const reinvocationOf = (attributes: AdmissionAttributes): Reinvocation => {
  let found = known.get(attributes)
  if (found === undefined) {
    found = new Reinvocation()
    known.set(attributes, found)
  }
  return found
}

/** Whether the plugins are to run once more. Costs nothing where no webhook was asked. */
export const runsAgain = (attributes: AdmissionAttributes): boolean => {
  const found = known.get(attributes)
  if (found === undefined || found.isSecond || !found.isNeeded) return false
  found.isSecond = true
  return true
}
