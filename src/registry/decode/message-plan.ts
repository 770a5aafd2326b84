/** How the fields of a Go struct lie in its protobuf message: what Go embeds is a message of its own there. */
import { type GoField, goFieldsOf } from './go-type.js'

export interface MessagePlan {
  readonly fields: ReadonlyMap<number, GoField>
  readonly embedded: ReadonlyMap<number, MessagePlan>
}

interface GrowingPlan {
  readonly fields: Map<number, GoField>
  readonly embedded: Map<number, GrowingPlan>
}

const emptyPlan = (): GrowingPlan => ({ fields: new Map(), embedded: new Map() })

const plans = new Map<string, MessagePlan>()

/** By field number; fields that Go embeds lie behind the numbers of the structs they come through. */
export const messagePlanOf = (key: string): MessagePlan => {
  const known = plans.get(key)
  if (known !== undefined) return known
  const plan = emptyPlan()
  for (const field of goFieldsOf(key)) {
    if (field.protoNumber === 0) continue
    let place = plan
    for (const number of field.embedded?.protoNumbers ?? []) {
      const inner = place.embedded.get(number) ?? emptyPlan()
      place.embedded.set(number, inner)
      place = inner
    }
    place.fields.set(field.protoNumber, field)
  }
  plans.set(key, plan)
  return plan
}
