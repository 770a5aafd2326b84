/** What strategic merge needs to know of a field: its Go type, and how its lists merge. Read when a patch first meets it. */
import { goQuote } from '#go/quote.js'
import { schemas } from '#openapi/schemas.js'
import { type GoType, goFieldsOf, schemaNameOfKey } from '../decode/go-type.js'
import { cannotMerge } from './strategic-errors.js'

interface PatchField {
  readonly type: GoType
  readonly pointer: boolean
  /** Empty: objects merge and lists are replaced. */
  readonly strategy: '' | 'merge' | 'replace'
  /** The field that tells the entries of a merged list apart; empty for lists of scalars. */
  readonly mergeKey: string
}

export type ListField = Pick<PatchField, 'strategy' | 'mergeKey'> & { readonly item: GoType }

const structs = new Map<string, ReadonlyMap<string, PatchField>>()

const fieldsOf = (key: string): ReadonlyMap<string, PatchField> => {
  let fields = structs.get(key)
  if (fields === undefined) {
    const properties = schemas()[schemaNameOfKey(key)]?.properties
    fields = new Map(
      goFieldsOf(key).map(({ name, type, pointer }) => {
        const schema = properties?.[name]
        const strategies = schema?.['x-kubernetes-patch-strategy']?.split(',')
        const strategy = strategies?.find((s) => s === 'merge' || s === 'replace') ?? ''
        const mergeKey = schema?.['x-kubernetes-patch-merge-key'] ?? ''
        return [name, { type, pointer, strategy, mergeKey }]
      }),
    )
    structs.set(key, fields)
  }
  return fields
}

/** What reflect's Kind says of a type. */
export const kindNameOf = (type: GoType): string => {
  switch (type.form) {
    case 'scalar':
      return type.scalar
    case 'bytes':
      return 'slice'
    case 'custom':
      return 'struct'
    default:
      return type.form
  }
}

export const lookUp = (type: GoType, key: string): PatchField => {
  const kind = kindNameOf(type)
  if (kind !== 'struct') {
    throw cannotMerge(`merging an object in json but data type is not struct, instead is: ${kind}`)
  }
  const field = type.form === 'struct' ? fieldsOf(type.key).get(key) : undefined
  if (field === undefined) {
    const name = type.name.slice(type.name.lastIndexOf('.') + 1)
    throw cannotMerge(
      `unable to find api field in struct ${name} for the json field ${goQuote(key)}`,
    )
  }
  return field
}

/** Upstream takes a pointer for a list of what it points at (strategicpatch/meta.go), and names the kind of the struct. */
export const lookUpList = (struct: GoType, key: string): ListField => {
  const { type, pointer, ...field } = lookUp(struct, key)
  if (kindNameOf(type) !== 'slice' && !pointer) {
    throw cannotMerge(`expected slice or array type, but got: ${kindNameOf(struct)}`)
  }
  return { ...field, item: type.form === 'slice' ? type.item : type }
}
