/** What expressions of policies and match conditions may name (apiserver, pkg/admission/plugin/cel/compile.go). */
import type { Environment } from '@marcbachmann/cel-js'
import { CompilationError, type Compiled, compileExpression } from './compile.js'
import { ruleEnvironment } from './functions.js'

const strings = (...names: string[]): Record<string, string> =>
  Object.fromEntries(names.map((name) => [name, 'string']))

const declareRequest = (env: Environment): void => {
  const prefix = 'kubernetes.AdmissionRequest'
  env.registerType(`${prefix}.GroupVersionKind`, { fields: strings('group', 'version', 'kind') })
  env.registerType(`${prefix}.GroupVersionResource`, {
    fields: strings('group', 'version', 'resource'),
  })
  env.registerType(`${prefix}.UserInfo`, {
    fields: {
      ...strings('username', 'uid'),
      groups: 'list<string>',
      extra: 'map<string, list<string>>',
    },
  })
  env.registerType(prefix, {
    fields: {
      ...strings('subResource', 'requestSubResource', 'name', 'namespace', 'operation'),
      kind: `${prefix}.GroupVersionKind`,
      requestKind: `${prefix}.GroupVersionKind`,
      resource: `${prefix}.GroupVersionResource`,
      requestResource: `${prefix}.GroupVersionResource`,
      userInfo: `${prefix}.UserInfo`,
      dryRun: 'bool',
      options: 'dyn',
    },
  })
}

const declareNamespace = (env: Environment): void => {
  const prefix = 'kubernetes.Namespace'
  env.registerType(`${prefix}.metadata`, {
    fields: {
      ...strings('name', 'generateName', 'namespace', 'UID', 'resourceVersion'),
      labels: 'map<string, string>',
      annotations: 'map<string, string>',
      creationTimestamp: 'google.protobuf.Timestamp',
      deletionTimestamp: 'google.protobuf.Timestamp',
      deletionGracePeriodSeconds: 'int',
      generation: 'int',
      finalizers: 'list<string>',
    },
  })
  env.registerType(`${prefix}.spec`, { fields: { finalizers: 'list<string>' } })
  env.registerType(`${prefix}.status`, { fields: { phase: 'string', conditions: 'list<dyn>' } })
  env.registerType(prefix, {
    fields: {
      metadata: `${prefix}.metadata`,
      spec: `${prefix}.spec`,
      status: `${prefix}.status`,
    },
  })
}

export interface PolicyNames {
  readonly params: boolean
  /** The variables that may be named, with the types of their expressions; missing: there are none at all. */
  readonly variables?: Readonly<Record<string, string>>
}

const roots = new Map<boolean, Environment>()
/** Made once: types and functions are copied from it for each policy. */
const root = (params: boolean): Environment => {
  let env = roots.get(params)
  if (env === undefined) {
    env = ruleEnvironment()
    declareRequest(env)
    declareNamespace(env)
    env.registerVariable('object', 'dyn')
    env.registerVariable('oldObject', 'dyn')
    env.registerVariable('authorizer', 'dyn')
    env.registerVariable('request', 'kubernetes.AdmissionRequest')
    env.registerVariable('namespaceObject', 'kubernetes.Namespace')
    if (params) env.registerVariable('params', 'dyn')
    roots.set(params, env)
  }
  return env
}

const environmentFor = ({ params, variables }: PolicyNames): Environment => {
  const env = root(params).clone()
  if (variables !== undefined) {
    env.registerType('kubernetes.variables', { fields: { ...variables } })
    env.registerVariable('variables', 'kubernetes.variables')
  }
  return env
}

export interface Checked {
  /** Type of the result, `dyn` when it is not known. */
  readonly type: string
  /** Why the expression is refused, in upstream's words. */
  readonly error?: string
}

const isWanted = ({ type, isSelection }: Compiled, text: string, wanted: readonly string[]) =>
  wanted.includes(type === 'null' ? 'null_type' : type) ||
  // Selections off untyped objects are refused; for other results the library may know less than upstream.
  (type === 'dyn' && (!isSelection || text.trim().startsWith('variables.')))

const listed = (wanted: readonly string[]): string =>
  wanted.length === 1 ? wanted[0]! : `one of [${wanted.join(' ')}]`

/** `wanted` empty: any result will do, as for a variable. */
export const checkPolicyExpression = (
  text: string,
  names: PolicyNames,
  wanted: readonly string[],
): Checked => {
  try {
    const compiled = compileExpression(environmentFor(names), text)
    if (wanted.length === 0 || isWanted(compiled, text, wanted)) return { type: compiled.type }
    const type = compiled.type.replaceAll('<', '(').replaceAll('>', ')')
    return { type: 'dyn', error: `must evaluate to ${listed(wanted)} but got ${type}` }
  } catch (error) {
    if (!(error instanceof CompilationError)) throw error
    return error.isUnknownHere ? { type: 'dyn' } : { type: 'dyn', error: error.message }
  }
}

let evaluation: Environment | undefined

/** For expressions that run: they were checked when they were written, so nothing has a type here. */
export const evaluationEnvironment = (): Environment => {
  if (evaluation === undefined) {
    evaluation = ruleEnvironment()
    const names = 'object oldObject request params namespaceObject authorizer variables'
    for (const name of names.split(' ')) evaluation.registerVariable(name, 'dyn')
  }
  return evaluation
}
