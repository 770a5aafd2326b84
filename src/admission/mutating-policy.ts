/** MutatingAdmissionPolicies and their bindings (apiserver, pkg/admission/plugin/policy/mutating). */
import { type ApiError, failure, resourceDetails } from '#api/errors.js'
import { cloneJson, jsonEqual } from '#api/json-object.js'
import type { JsonObject, KubeObject } from '#api/object.js'
import { type PolicyNames, results } from '#cel/policy-environment.js'
import { limits } from '#limits'
import type { AdmissionAttributes } from '#registry/admission.js'
import {
  type Authorize,
  activationOf,
  compile,
  conditionsHold,
  EvaluationError,
  type Expression,
  evaluate,
} from './cel.js'
import { compiledOnce, compilePolicy, withVariables } from './compiled-policy.js'
import { applyConfiguration, applyJsonPatches, MutationError } from './mutate-object.js'
import { type AdmissionPlugin, whenKnown } from './plugin.js'
import {
  type BoundPolicy,
  boundPolicies,
  isMeant,
  namespaceOf,
  type PolicyMeans,
  paramsMissing,
  paramsOf,
  requestOf,
} from './policy-input.js'
import { type Reinvocation, reinvocationOf } from './reinvocation.js'

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

const compiledPolicy = compiledOnce((policy) => {
  const { names, ...compiled } = compilePolicy(policy)
  const mutations = ((policy.spec.mutations ?? []) as WrittenMutation[]).map((m) =>
    compileMutation(m, names),
  )
  return { ...compiled, mutations }
})

/** One policy, bound, with one of its parameters. */
interface Invocation extends BoundPolicy {
  readonly param: KubeObject | null
}

interface Problem extends BoundPolicy {
  readonly message: string
  readonly reason?: string
}

const collect = async (
  attributes: AdmissionAttributes,
  bound: readonly BoundPolicy[],
  { resourceOfKind }: PolicyMeans,
): Promise<{ invocations: Invocation[]; problems: Problem[] }> => {
  const invocations: Invocation[] = []
  const problems: Problem[] = []
  for (const pair of bound) {
    if (!(await isMeant(attributes, pair))) continue
    const params = await paramsOf(attributes, pair, resourceOfKind)
    if (params === 'deny') problems.push({ ...pair, message: paramsMissing })
    else invocations.push(...params.map((param) => ({ ...pair, param })))
  }
  return { invocations, problems }
}

/** Puts the new content into the object that the chain holds on to, in the order of the new one. */
const replaceContent = (object: KubeObject, next: KubeObject): void => {
  const content = { ...next }
  for (const key of Object.keys(object)) delete object[key]
  Object.assign(object, content)
}

interface Outcome {
  readonly problems: Problem[]
  /** False when its conditions do not hold, or end in an error. */
  readonly isInvoked: boolean
  /** Something was applied, even if that changed nothing. */
  readonly isMutated: boolean
}

const keyOf = ({ policy, binding, param }: Invocation): string =>
  JSON.stringify([
    policy.metadata.name,
    binding.metadata.name,
    param?.metadata.namespace,
    param?.metadata.name,
  ])

/** Each mutation sees what those before it made. */
const mutateOnce = async (
  attributes: AdmissionAttributes,
  invocation: Invocation,
  authorize: Authorize,
  reinvocation: Reinvocation,
): Promise<Outcome> => {
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
  let isMutated = false
  const outcome = (isInvoked: boolean): Outcome => ({ problems, isInvoked, isMutated })
  try {
    if (!(await conditionsHold(conditions, activation()))) return outcome(false)
  } catch (error) {
    note(error)
    return outcome(false)
  }
  if (!reinvocation.mayAsk(keyOf(invocation))) return outcome(false)
  if (object === undefined) return outcome(true)
  for (const { expression, apply } of mutations) {
    budget.left = limits.celObjectCostMax
    try {
      const result = await evaluate(expression, activation(), budget)
      replaceContent(object, apply(definition, object, result))
      isMutated = true
    } catch (error) {
      note(error)
    }
  }
  return outcome(true)
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
      ...resourceDetails(resource, shown),
      causes: texts.map((message) => ({ message })),
    },
  })
}

const contentOf = ({ object }: AdmissionAttributes): JsonObject => cloneJson(object ?? {})

const runRound = async (
  attributes: AdmissionAttributes,
  invocations: readonly Invocation[],
  { authorize }: PolicyMeans,
): Promise<Problem[]> => {
  const reinvocation = reinvocationOf(attributes, 'policies')
  reinvocation.begin(attributes)
  const problems: Problem[] = []
  let isMutated = false
  for (const invocation of invocations) {
    const before = contentOf(attributes)
    const outcome = await mutateOnce(attributes, invocation, authorize, reinvocation)
    problems.push(...outcome.problems)
    isMutated ||= outcome.isMutated
    if (!outcome.isInvoked) continue
    const hasChanged = outcome.isMutated && !jsonEqual(contentOf(attributes), before)
    const { reinvocationPolicy } = invocation.policy.spec
    reinvocation.asked(keyOf(invocation), reinvocationPolicy, hasChanged)
  }
  // Even mutations that change nothing make the policies before them be asked again.
  if (isMutated) reinvocation.mutated()
  reinvocation.end(attributes)
  return problems
}

const mutateBy = async (
  attributes: AdmissionAttributes,
  bound: readonly BoundPolicy[],
  means: PolicyMeans,
): Promise<void> => {
  const { invocations, problems } = await collect(attributes, bound, means)
  if (invocations.length > 0) problems.push(...(await runRound(attributes, invocations, means)))
  const refused = problems.filter((problem) => !ignores(problem))
  if (refused.length > 0) throw denial(attributes, refused)
}

export const mutatingAdmissionPolicy = (means: PolicyMeans): AdmissionPlugin => ({
  name: 'MutatingAdmissionPolicy',
  mutate: (attributes) => {
    if (attributes.operation === 'DELETE') return
    return whenKnown(boundPolicies(attributes, policies, bindings), (bound) =>
      bound.length === 0 ? undefined : mutateBy(attributes, bound, means),
    )
  },
})
