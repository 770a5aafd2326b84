/** MutatingAdmissionPolicies and their bindings (apiserver, pkg/admission/plugin/policy/mutating). */
import { type ApiError, failure } from '#api/errors.js'
import { jsonEqual } from '#api/json-object.js'
import type { JsonObject, KubeObject } from '#api/object.js'
import { type PolicyNames, results } from '#cel/policy-environment.js'
import { limits } from '#limits'
import type { AdmissionAttributes } from '#registry/admission.js'
import {
  type Authorize,
  activationOf,
  compile,
  compiledOnce,
  compileVariables,
  conditionsHold,
  EvaluationError,
  type Expression,
  evaluate,
  type MatchCondition,
  withVariables,
} from './cel.js'
import { applyConfiguration, applyJsonPatches, MutationError } from './mutate-object.js'
import type { AdmissionPlugin } from './plugin.js'
import {
  type BoundPolicy,
  boundPolicies,
  isMeant,
  namespaceOf,
  paramsMissing,
  paramsOf,
  type ResourceOfKind,
  requestOf,
} from './policy-input.js'

const group = 'admissionregistration.k8s.io'
const policies = { group, resource: 'mutatingadmissionpolicies' }
const bindings = { group, resource: 'mutatingadmissionpolicybindings' }

interface WrittenMutation {
  readonly patchType: 'ApplyConfiguration' | 'JSONPatch'
  readonly applyConfiguration?: { readonly expression: string }
  readonly jsonPatch?: { readonly expression: string }
}

interface Mutation {
  readonly expression: Expression
  readonly apply: typeof applyConfiguration
}

const compileMutation = (written: WrittenMutation, names: PolicyNames): Mutation => {
  const patches = { ...names, patchTypes: true }
  return written.patchType === 'JSONPatch'
    ? {
        expression: compile(written.jsonPatch?.expression ?? '', patches, results.jsonPatches),
        apply: applyJsonPatches,
      }
    : {
        expression: compile(
          written.applyConfiguration?.expression ?? '',
          patches,
          results.applyConfiguration,
        ),
        apply: applyConfiguration,
      }
}

const compiledPolicy = compiledOnce(({ spec }) => {
  const params = Boolean(spec.paramKind)
  const { variables, types } = compileVariables(spec.variables ?? [], params)
  const names: PolicyNames = { params, variables: types }
  return {
    variables,
    conditions: ((spec.matchConditions ?? []) as MatchCondition[]).map(({ expression }) =>
      compile(expression, names, results.boolean),
    ),
    mutations: ((spec.mutations ?? []) as WrittenMutation[]).map((m) => compileMutation(m, names)),
  }
})

/** One policy, bound, with one of its parameters. */
interface Invocation extends BoundPolicy {
  readonly param: KubeObject | null
}

interface Problem extends BoundPolicy {
  readonly message: string
  readonly reason?: string
}

interface Means {
  readonly resourceOfKind: ResourceOfKind
  readonly authorize: Authorize
}

const collect = async (
  attributes: AdmissionAttributes,
  { resourceOfKind }: Means,
): Promise<{ invocations: Invocation[]; problems: Problem[] }> => {
  const invocations: Invocation[] = []
  const problems: Problem[] = []
  for (const pair of await boundPolicies(attributes, policies, bindings)) {
    if (!(await isMeant(attributes, pair))) continue
    const params = await paramsOf(attributes, pair, resourceOfKind)
    if (params === 'deny') problems.push({ ...pair, message: paramsMissing })
    else invocations.push(...params.map((param) => ({ ...pair, param })))
  }
  return { invocations, problems }
}

/** Puts the new content into the object that the chain holds on to. */
const replaceContent = (object: KubeObject, next: KubeObject): void => {
  for (const key of Object.keys(object)) if (!(key in next)) delete object[key]
  Object.assign(object, next)
}

/** Each mutation sees what those before it made. */
const mutateOnce = async (
  attributes: AdmissionAttributes,
  invocation: Invocation,
  authorize: Authorize,
): Promise<Problem[]> => {
  const { object, definition } = attributes
  const { policy, param } = invocation
  const { conditions, variables, mutations } = compiledPolicy(policy)
  const namespaceObject = await namespaceOf(attributes)
  const request = requestOf(attributes)
  const budget = { left: limits.celObjectCostMax }
  const activation = () => {
    const parts = { object: object ?? null, request, namespaceObject, params: param }
    return withVariables(activationOf(attributes, parts, authorize), variables, budget)
  }
  const problems: Problem[] = []
  const note = (error: unknown): void => {
    if (!(error instanceof EvaluationError || error instanceof MutationError)) throw error
    problems.push({ ...invocation, message: error.message, reason: 'Invalid' })
  }
  try {
    if (!(await conditionsHold(conditions, activation()))) return []
  } catch (error) {
    note(error)
    return problems
  }
  if (object === undefined) return []
  for (const { expression, apply } of mutations) {
    budget.left = limits.celObjectCostMax
    try {
      const result = await evaluate(expression, activation(), budget)
      replaceContent(object, apply(definition, object, result))
    } catch (error) {
      note(error)
    }
  }
  return problems
}

const ignores = ({ policy }: BoundPolicy): boolean => policy.spec.failurePolicy === 'Ignore'

const denial = (attributes: AdmissionAttributes, problems: readonly Problem[]): ApiError => {
  const { resource, object, name } = attributes
  const texts = problems.map(
    ({ policy, binding, message }) =>
      `policy '${policy.metadata.name}' with binding '${binding.metadata.name}' denied request: ${message}`,
  )
  const shown = name || (object?.metadata?.name ?? '')
  return failure({
    code: 403,
    reason: problems[0]!.reason ?? 'Forbidden',
    message: texts[0]!,
    details: {
      ...(shown === '' ? {} : { name: shown }),
      ...(resource.group === '' ? {} : { group: resource.group }),
      kind: resource.resource,
      causes: texts.map((message) => ({ message })),
    },
  })
}

const contentOf = (object: KubeObject | undefined): JsonObject =>
  structuredClone(object ?? {}) as JsonObject

const isChanged = (object: KubeObject | undefined, before: JsonObject): boolean =>
  !jsonEqual((object ?? {}) as unknown as JsonObject, before)

/** The policies that are asked in a round; those that asked for it come back when a later one changed the object. */
const runRound = async (
  attributes: AdmissionAttributes,
  invocations: readonly Invocation[],
  { authorize }: Means,
): Promise<{ again: Invocation[]; problems: Problem[] }> => {
  const problems: Problem[] = []
  const again: Invocation[] = []
  let invoked: Invocation[] = []
  for (const invocation of invocations) {
    const before = contentOf(attributes.object)
    problems.push(...(await mutateOnce(attributes, invocation, authorize)))
    if (isChanged(attributes.object, before)) {
      again.push(...invoked)
      invoked = []
    }
    if (invocation.policy.spec.reinvocationPolicy === 'IfNeeded') invoked.push(invocation)
  }
  return { again, problems }
}

export const mutatingAdmissionPolicy = (means: Means): AdmissionPlugin => ({
  name: 'MutatingAdmissionPolicy',
  mutate: async (attributes) => {
    if (attributes.operation === 'DELETE') return
    const { invocations, problems } = await collect(attributes, means)
    if (invocations.length > 0) {
      const first = await runRound(attributes, invocations, means)
      problems.push(...first.problems)
      refuse(attributes, problems)
      // Plugins are asked a second time at most, however much that changes.
      if (first.again.length > 0) {
        const second = await runRound(attributes, first.again, means)
        problems.push(...second.problems)
      }
    }
    refuse(attributes, problems)
  },
})

const refuse = (attributes: AdmissionAttributes, problems: readonly Problem[]): void => {
  const refused = problems.filter((problem) => !ignores(problem))
  if (refused.length > 0) throw denial(attributes, refused)
}
