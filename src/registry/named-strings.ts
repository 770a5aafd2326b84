/** Errors about strings whose Go type has a name of its own (`v1.DNSPolicy`), which upstream prints as JSON. */
import type { FieldError } from '#api/field-error.js'
import { type GoType, goFieldsOf, goTypeOfKey } from './decode/go-type.js'
import { storedStruct } from './decode.js'
import type { ResourceDefinition } from './resource-definition.js'

/** `spec.ports[0].protocol` → spec, ports, [0], protocol. */
const stepsOf = (path: string): string[] => path.match(/\[[^\]]*\]|[^.[\]]+/g) ?? []

const inside = (type: GoType | undefined, step: string): GoType | undefined => {
  if (type?.form === 'slice') return step.startsWith('[') ? type.item : inside(type.item, step)
  if (type?.form === 'map') return step.startsWith('[') ? type.value : undefined
  if (type?.form !== 'struct') return undefined
  return goFieldsOf(type.key).find(({ name }) => name === step)?.type
}

/** What upstream's checks of formats say: they take plain strings. */
const formatText =
  /: "(?:[^"\\]|\\.)*": (?:name part must|prefix part must|name is neither|a valid |a lowercase RFC|a DNS-1035|error validating uid)/

/** The type of the key that an error is about if it is at an entry of a map that holds no texts. */
const keyAt = (types: readonly (GoType | undefined)[]): GoType | undefined => {
  const [map, value] = types.slice(-2)
  return map?.form === 'map' && value?.form !== 'scalar' ? map.key : undefined
}

/** A text at a map is a key of it. An error at a struct that tells what is supported is about an enumeration in it. */
const isNamed = (type: GoType | undefined, error: FieldError): boolean => {
  if (type?.form === 'slice') return isNamed(type.item, error)
  if (type?.form === 'map') return isNamed(type.key, error)
  if (type?.form === 'struct') return error.type === 'FieldValueNotSupported'
  return type?.form === 'scalar' && type.name !== 'string' && !formatText.test(error.body)
}

/** The errors in the words that upstream has for the types of the kind. */
export const withNamedStrings = (
  errors: readonly FieldError[],
  definition: ResourceDefinition,
): readonly FieldError[] => {
  if (errors.every(({ bodyIfNamed }) => bodyIfNamed === undefined)) return errors
  const struct = storedStruct(definition)
  if (struct === undefined) return errors
  const root = goTypeOfKey(struct)
  return errors.map((error) => {
    const { bodyIfNamed, field } = error
    if (bodyIfNamed === undefined) return error
    const types: (GoType | undefined)[] = [root]
    for (const step of stepsOf(field)) types.push(inside(types.at(-1), step))
    const key = keyAt(types)
    const isNamedValue = key === undefined ? isNamed(types.at(-1), error) : key.name !== 'string'
    return isNamedValue ? { ...error, body: bodyIfNamed } : error
  })
}
