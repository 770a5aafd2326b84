/** MutatingAdmissionPolicies and their bindings (apiserver, pkg/admission/plugin/policy/mutating). */
import { ApiError, failure, internalError, resourceDetails } from '#api/errors.js'
import { formatGroupVersion } from '#api/group-version.js'
import type { KubeObject } from '#api/object.js'
import { whenKnown } from '#async/when-known.js'
import { type PolicyNames, results } from '#cel/policy-environment.js'
import { jsonEqual, replaceFields } from '#json/object.js'
import { limits } from '#limits'
import type { AdmissionAttributes } from '#registry/admission.js'
import type { ResourceDefinition } from '#registry/resource-definition.js'
import { type AdmissionPlugin, refusedName } from '../plugin.js'
import { type Reinvocation, reinvocationOf } from '../reinvocation.js'
import { inVersion, type VersionedRequest, writeBack } from '../versioned-request.js'
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
import {
  type BoundPolicy,
  boundPolicies,
  Misconfigured,
  meantVersion,
  namespaceOf,
  type PolicyMeans,
  paramsOf,
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
  /** The request in the version that the policy's rules name; shared by all policies with that version. */
  readonly seen: VersionedRequest
}

interface Problem {
  readonly policy: KubeObject
  /** Missing where the policy itself is wrong. */
  readonly binding?: KubeObject | undefined
  readonly message: string
  readonly reason?: string
}

/** One copy of the object for each version other than the request's (VersionedAttributes). */
const versionsOf = (attributes: AdmissionAttributes) => {
  const known = new Map<ResourceDefinition, VersionedRequest>()
  return async (version: ResourceDefinition): Promise<VersionedRequest> => {
    let seen = known.get(version)
    if (seen === undefined) {
      const { object, ...rest } = await inVersion(attributes, version).catch((error: Error) => {
        throw new Misconfigured(error.message)
      })
      seen = { ...rest, object: object && { ...object } }
      known.set(version, seen)
    }
    return seen
  }
}

const collect = async (
  attributes: AdmissionAttributes,
  bound: readonly BoundPolicy[],
  means: PolicyMeans,
): Promise<{ invocations: Invocation[]; problems: Problem[] }> => {
  const invocations: Invocation[] = []
  const problems: Problem[] = []
  const seenIn = versionsOf(attributes)
  for (const pair of bound) {
    try {
      const version = await meantVersion(attributes, pair, means)
      if (version === undefined) continue
      const seen = await seenIn(version)
      const params = await paramsOf(attributes, pair, means)
      invocations.push(...params.map((param) => ({ ...pair, param, seen })))
    } catch (error) {
      if (!(error instanceof Misconfigured)) throw error
      const { policy } = pair
      const { binding, message } = error
      // A fault of the policy itself is reported once, however many bindings it has.
      if (binding === undefined && problems.some((problem) => problem.policy === policy)) continue
      problems.push({ policy, binding, message })
    }
  }
  return { invocations, problems }
}

interface Outcome {
  readonly problems: Problem[]
  /** False when its conditions do not hold, or end in an error. */
  readonly isInvoked: boolean
  /** A mutation was applied, even if it changed nothing. */
  readonly isMutated: boolean
  readonly hasChanged: boolean
}

const keyOf = ({ policy, binding, param }: Invocation): string =>
  JSON.stringify([
    policy.metadata.name,
    binding.metadata.name,
    param?.metadata.namespace,
    param?.metadata.name,
  ])

/** Upstream cannot convert a mutated object back from another version of a built-in kind, and denies the request. */
const checkWayBack = ({ kind, original, definition }: VersionedRequest): void => {
  const wanted = original.kind
  if (definition.isCustom || formatGroupVersion(kind) === formatGroupVersion(wanted)) return
  throw new MutationError(
    kind.group === wanted.group
      ? `converting (${kind.version}.${kind.kind}) to (${wanted.version}.${wanted.kind}): unknown conversion`
      : `${kind.version}.${kind.kind} is not suitable for converting to "${formatGroupVersion(wanted)}" in scheme "pkg/runtime/scheme.go:111"`,
  )
}

/** Each mutation sees what those before it made. */
const mutateOnce = async (
  attributes: AdmissionAttributes,
  invocation: Invocation,
  authorize: Authorize,
  reinvocation: Reinvocation,
): Promise<Outcome> => {
  const { policy, param, seen } = invocation
  const { object } = seen
  const before = { ...object }
  const { conditions, variables, mutations } = compiledPolicy(policy)
  const namespaceObject = await namespaceOf(attributes)
  const request = requestOf(seen)
  const budget = { left: limits.celObjectCostMax }
  const activation = () => {
    const parts = { object: object ?? null, request, namespaceObject, params: param }
    return withVariables(activationOf(seen, parts, authorize), variables, budget)
  }
  const problems: Problem[] = []
  const note = (error: unknown): void => {
    if (!(error instanceof EvaluationError || error instanceof MutationError)) throw error
    problems.push({ ...invocation, message: error.message, reason: 'Invalid' })
  }
  let isMutated = false
  const outcome = (isInvoked: boolean): Outcome => ({
    problems,
    isInvoked,
    isMutated,
    hasChanged: isMutated && !jsonEqual(before, object),
  })
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
      const next = apply(seen, object, result)
      checkWayBack(seen)
      replaceFields(object, next)
      isMutated = true
    } catch (error) {
      note(error)
    }
  }
  return outcome(true)
}

const ignores = ({ policy }: Problem): boolean => policy.spec.failurePolicy === 'Ignore'

const denial = (attributes: AdmissionAttributes, problems: readonly Problem[]): ApiError => {
  const { resource } = attributes
  const texts = problems.map(({ policy, binding, message }) => {
    const { name } = policy.metadata
    const who =
      binding === undefined
        ? `policy ${JSON.stringify(name)}`
        : `policy '${name}' with binding '${binding.metadata.name}'`
    return `${who} denied request: ${message}`
  })
  const shown = refusedName(attributes)
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

/** Upstream keeps the object in the version of the last policy, if anything was mutated in that version. */
const keepLast = async (
  last: VersionedRequest | undefined,
  mutated: ReadonlySet<VersionedRequest>,
  reinvocation: Reinvocation,
): Promise<void> => {
  if (last === undefined || !mutated.has(last)) return
  // Even a mutation that changes nothing causes reinvocation.
  reinvocation.mutated()
  await writeBack(last).catch((error: unknown) => {
    if (!(error instanceof ApiError)) throw error
    throw internalError(`failed to convert object: ${error.message}`)
  })
}

const runRound = async (
  attributes: AdmissionAttributes,
  invocations: readonly Invocation[],
  { authorize }: PolicyMeans,
): Promise<Problem[]> => {
  const reinvocation = reinvocationOf(attributes, 'policies')
  reinvocation.begin(attributes)
  const problems: Problem[] = []
  const mutated = new Set<VersionedRequest>()
  let last: VersionedRequest | undefined
  for (const invocation of invocations) {
    const { policy, seen } = invocation
    const outcome = await mutateOnce(attributes, invocation, authorize, reinvocation)
    problems.push(...outcome.problems)
    if (outcome.isMutated) mutated.add(seen)
    if (!outcome.isInvoked) continue
    if (seen.object !== undefined) last = seen
    const { reinvocationPolicy } = policy.spec
    reinvocation.asked(keyOf(invocation), reinvocationPolicy, outcome.hasChanged)
  }
  await keepLast(last, mutated, reinvocation)
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
