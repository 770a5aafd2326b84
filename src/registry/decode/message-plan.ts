/** How the fields of a Go struct lie in its protobuf message: what Go embeds is a message of its own there. */
import { oncePer } from '#async/once.js'
import { type GoField, goFieldsOf } from './go-type.js'

export interface MessagePlan {
  readonly fields: ReadonlyMap<number, GoField>
  readonly embedded: ReadonlyMap<number, EmbeddedMessage>
}

interface EmbeddedMessage {
  /** Of the Go type, and so of the field. */
  readonly name: string
  readonly plan: MessagePlan
}

interface GrowingPlan {
  readonly fields: Map<number, GoField>
  readonly embedded: Map<number, { name: string; plan: GrowingPlan }>
}

const emptyPlan = (): GrowingPlan => ({ fields: new Map(), embedded: new Map() })

/** By field number; fields that Go embeds lie behind the numbers of the structs they come through. */
export const planOfFields = (fields: readonly GoField[]): MessagePlan => {
  const plan = emptyPlan()
  for (const field of fields) {
    if (field.protoNumber === 0) continue
    let place = plan
    const { name = '', protoNumbers = [] } = field.embedded ?? {}
    for (const [depth, number] of protoNumbers.entries()) {
      const inner = place.embedded.get(number) ?? { name: '', plan: emptyPlan() }
      if (depth === protoNumbers.length - 1) inner.name = name
      place.embedded.set(number, inner)
      place = inner.plan
    }
    place.fields.set(field.protoNumber, field)
  }
  return plan
}

export const messagePlanOf = oncePer((key) => planOfFields(goFieldsOf(key)))
