/**
 * Mutating plugins run a second time when a webhook or a policy changed the object after others had seen it; of the
 * webhooks and policies only those that ask for it and were there the first time (apiserver,
 * pkg/admission/reinvocation.go, plugin/webhook/mutating, plugin/policy/mutating).
 */
import { cloneJson, jsonEqual } from '#json/object.js'
import type { JsonValue } from '#json/value.js'
import type { AdmissionAttributes } from '#registry/admission.js'

interface Rounds {
  /** The second round runs. */
  isSecond: boolean
  /** A webhook or a policy changed the object. */
  isNeeded: boolean
}

/** The reinvocation state of one of the two plugins. */
export class Reinvocation {
  readonly #rounds: Rounds
  #asked = new Set<string>()
  readonly #again = new Set<string>()
  #output: JsonValue | undefined

  constructor(rounds: Rounds) {
    this.#rounds = rounds
  }

  get isSecond(): boolean {
    return this.#rounds.isSecond
  }

  /** Called when a round of the plugin begins: what other plugins changed since the last one counts, too. */
  begin({ object }: AdmissionAttributes): void {
    if (this.#rounds.isSecond && !jsonEqual(this.#output, object ?? null)) this.#requireAll()
  }

  end({ object }: AdmissionAttributes): void {
    this.#output = object && cloneJson(object)
  }

  mayAsk(id: string): boolean {
    return !this.#rounds.isSecond || this.#again.has(id)
  }

  /** `policy` is the reinvocationPolicy. */
  asked(id: string, policy: string | undefined, hasChanged: boolean): void {
    if (hasChanged) this.mutated()
    if (policy === 'IfNeeded') this.#asked.add(id)
  }

  /** All that were called so far, and have the policy IfNeeded, are called again. */
  mutated(): void {
    this.#requireAll()
    this.#rounds.isNeeded = true
  }

  #requireAll(): void {
    for (const id of this.#asked) this.#again.add(id)
    this.#asked = new Set()
  }
}

type Plugin = 'policies' | 'webhooks'

const known = new WeakMap<
  AdmissionAttributes,
  { readonly rounds: Rounds } & Partial<Record<Plugin, Reinvocation>>
>()

export const reinvocationOf = (attributes: AdmissionAttributes, plugin: Plugin): Reinvocation => {
  let found = known.get(attributes)
  if (found === undefined) {
    found = { rounds: { isSecond: false, isNeeded: false } }
    known.set(attributes, found)
  }
  found[plugin] ??= new Reinvocation(found.rounds)
  return found[plugin]
}

/** Whether the plugins are to run once more. Costs nothing where no webhook or policy was asked. */
export const runsAgain = (attributes: AdmissionAttributes): boolean => {
  const rounds = known.get(attributes)?.rounds
  if (rounds === undefined || rounds.isSecond || !rounds.isNeeded) return false
  rounds.isSecond = true
  return true
}
