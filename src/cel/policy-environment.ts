/** What expressions of policies and match conditions may name (apiserver, pkg/admission/plugin/cel/compile.go). */
import { limits } from '#limits'
import type { Program } from './compile.js'
import { compileText, type NotCompiled } from './compile-text.js'
import { Environment, type FieldLookup, type Fields } from './environment.js'
import { isExactType, listOf, mapOf, structType, type Type, types, typeText } from './types.js'

const fields = (type: Type, names: string): Fields =>
  Object.fromEntries(names.split(' ').map((name) => [name, type]))

const { string, timestamp, int, dyn, bool } = types
const strings = listOf(string)

/** `request` and `namespaceObject`. */
export const structs: Readonly<Record<string, Fields>> = {
  'kubernetes.GroupVersionKind': fields(string, 'group version kind'),
  'kubernetes.GroupVersionResource': fields(string, 'group version resource'),
  'kubernetes.UserInfo': {
    ...fields(string, 'username uid'),
    groups: strings,
    extra: mapOf(string, strings),
  },
  'kubernetes.AdmissionRequest': {
    ...fields(string, 'subResource requestSubResource name namespace operation'),
    ...fields(structType('kubernetes.GroupVersionKind'), 'kind requestKind'),
    ...fields(structType('kubernetes.GroupVersionResource'), 'resource requestResource'),
    userInfo: structType('kubernetes.UserInfo'),
    dryRun: bool,
    options: dyn,
  },
  'kubernetes.NamespaceMetadata': {
    ...fields(string, 'name generateName namespace UID resourceVersion'),
    ...fields(mapOf(string, string), 'labels annotations'),
    ...fields(timestamp, 'creationTimestamp deletionTimestamp'),
    ...fields(int, 'deletionGracePeriodSeconds generation'),
    finalizers: strings,
  },
  'kubernetes.NamespaceSpec': { finalizers: strings },
  'kubernetes.NamespaceCondition': {
    ...fields(string, 'status type message reason'),
    lastTransitionTime: timestamp,
  },
  'kubernetes.NamespaceStatus': {
    conditions: listOf(structType('kubernetes.NamespaceCondition')),
    phase: string,
  },
  'kubernetes.Namespace': {
    metadata: structType('kubernetes.NamespaceMetadata'),
    spec: structType('kubernetes.NamespaceSpec'),
    status: structType('kubernetes.NamespaceStatus'),
  },
}

export interface PolicyNames {
  readonly params: boolean
  /** The variables that may be named, with the types of their expressions; missing: there are none at all. */
  readonly variables?: ReadonlyMap<string, Type>
  /** Expressions of messages have no authorizer. */
  readonly noAuthorizer?: boolean
  /** Mutations build `Object` and `JSONPatch`. */
  readonly patchTypes?: boolean
}

const patchObject = structType('Object')
const jsonPatch = structType('JSONPatch')
const jsonPatchFields: Fields = { ...fields(string, 'op path from'), value: dyn }

/** Upstream's patches have every field; those that it does not know have a type that nothing is of. */
const noType = structType('')

/** Any name below `Object` is a type, and any name a field of it: they are checked when they are merged. */
const openType = (name: string): FieldLookup | undefined => {
  if (name === 'JSONPatch')
    return (field) => (Object.hasOwn(jsonPatchFields, field) ? jsonPatchFields[field]! : noType)
  return name === 'Object' || name.startsWith('Object.') ? () => dyn : undefined
}

/** What an expression of a kind must yield. */
export const results = {
  boolean: [types.bool],
  text: [types.string],
  textOrNull: [types.string, types.null],
  /** Any result will do, as for a variable. */
  anything: [] as readonly Type[],
  applyConfiguration: [patchObject],
  jsonPatches: [listOf(jsonPatch)],
} as const

/** What the types of objects play no part in. */
export const requestVariables: Fields = {
  request: structType('kubernetes.AdmissionRequest'),
  namespaceObject: structType('kubernetes.Namespace'),
}

export const authorizerVariable: Fields = {
  authorizer: structType('kubernetes.authorization.Authorizer'),
}

/** With `variables`, whose fields are those of the policy: those that there are when one is named. */
export const withPolicyVariables = (
  env: Environment,
  variables: ReadonlyMap<string, Type>,
): Environment =>
  env
    .withOpenType((name) =>
      name === 'kubernetes.variables' ? (field) => variables.get(field) : undefined,
    )
    .withVariables({ variables: structType('kubernetes.variables') })

const roots = new Map<string, Environment>()
const rootOf = ({ params, patchTypes, noAuthorizer }: PolicyNames): Environment => {
  const key = `${params} ${patchTypes === true} ${noAuthorizer === true}`
  let env = roots.get(key)
  if (env === undefined) {
    env = Environment.base.withTypes(structs).withVariables({
      ...fields(dyn, params ? 'object oldObject params' : 'object oldObject'),
      ...requestVariables,
    })
    if (!noAuthorizer)
      env = env.withVariables({
        ...authorizerVariable,
        'authorizer.requestResource': structType('kubernetes.authorization.ResourceCheck'),
      })
    if (patchTypes) env = env.withOpenType(openType).withJsonPatch()
    roots.set(key, env)
  }
  return env
}

const environmentFor = (names: PolicyNames): Environment => {
  const root = rootOf(names)
  const { variables } = names
  return variables === undefined ? root : withPolicyVariables(root, variables)
}

/** Types that a variable keeps; what has others, or is beyond the bound, is known at run time only. */
const keptKinds = new Set(
  'bool bytes double duration int list map null string timestamp uint'.split(' '),
)
export const typeOfVariable = (type: Type): Type => {
  let left = limits.celVariableTypePartsMax
  const kept = (part: Type): Type =>
    left-- > 0 && keptKinds.has(part.kind) ? { ...part, params: part.params.map(kept) } : dyn
  return kept(type)
}

export interface PolicyExpression extends Partial<NotCompiled> {
  /** As a variable, for the expressions after it. */
  readonly type: Type
  readonly program?: Program
}

const listed = (wanted: readonly Type[]): string =>
  wanted.length === 1 ? typeText(wanted[0]!) : `one of [${wanted.map(typeText).join(' ')}]`

/** Checks an expression and makes its program. */
export const compilePolicyExpression = (
  text: string,
  names: PolicyNames,
  wanted: readonly Type[],
): PolicyExpression => {
  const compiled = compileText(environmentFor(names), text, (type) =>
    wanted.length === 0 || wanted.some((one) => isExactType(one, type))
      ? undefined
      : `must evaluate to ${listed(wanted)} but got ${typeText(type)}`,
  )
  if ('error' in compiled) return { type: dyn, ...compiled }
  return { type: typeOfVariable(compiled.type), program: compiled.program }
}
