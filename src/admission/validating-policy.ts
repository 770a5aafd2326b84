/** ValidatingAdmissionPolicies and their bindings (apiserver, pkg/admission/plugin/policy/validating). */
import { type ApiError, failure, resourceDetails } from '#api/errors.js'
import { formatGroupResource } from '#api/group-version.js'
import type { KubeObject } from '#api/object.js'
import { whenKnown } from '#api/when-known.js'
import { results } from '#cel/policy-environment.js'
import { limits } from '#limits'
import type { AdmissionAttributes } from '#registry/admission.js'
import {
  type Activation,
  activationOf,
  type Budget,
  compile,
  conditionsHold,
  EvaluationError,
  type Expression,
  evaluate,
} from './cel.js'
import { compiledOnce, compilePolicy, withVariables } from './compiled-policy.js'
import { type AdmissionPlugin, refusedName } from './plugin.js'
import {
  type BoundPolicy,
  boundPolicies,
  Misconfigured,
  meantVersion,
  namespaceOf,
  type PolicyMeans,
  paramsOf,
  requestOf,
  seenByPolicy,
} from './policy-input.js'

const group = 'admissionregistration.k8s.io'
const policies = { group, resource: 'validatingadmissionpolicies' }
const bindings = { group, resource: 'validatingadmissionpolicybindings' }

const codes: Readonly<Record<string, number>> = {
  Invalid: 422,
  Forbidden: 403,
  RequestEntityTooLarge: 413,
  Unauthorized: 401,
}

interface Finding {
  message: string
  reason: string
}
interface Validation {
  expression: string
  message?: string
  messageExpression?: string
  reason?: string
}

const deny = (attributes: AdmissionAttributes, who: string, finding: Finding) => {
  const { resource } = attributes
  const cause = `${who} denied request: ${finding.message}`
  const shown = refusedName(attributes)
  return failure({
    code: codes[finding.reason] ?? 422,
    reason: finding.reason,
    message: `${formatGroupResource(resource)} ${JSON.stringify(shown)} is forbidden: ${cause}`,
    details: {
      ...resourceDetails(resource, shown),
      causes: [{ message: cause }],
    },
  })
}

interface CompiledValidation {
  readonly written: Validation
  readonly expression: Expression
  readonly message: Expression | undefined
}

const compiledPolicy = compiledOnce((policy) => {
  const { names, ...compiled } = compilePolicy(policy)
  const validations = ((policy.spec.validations ?? []) as Validation[]).map(
    (written): CompiledValidation => ({
      written,
      expression: compile(written.expression, names, results.boolean),
      message: written.messageExpression
        ? compile(written.messageExpression, { ...names, noAuthorizer: true }, results.text)
        : undefined,
    }),
  )
  const annotations = ((policy.spec.auditAnnotations ?? []) as { valueExpression: string }[]).map(
    ({ valueExpression }) => compile(valueExpression, names, results.textOrNull),
  )
  return { ...compiled, validations, annotations }
})

/** Nothing is audited here, but an annotation that cannot be made denies, whatever the actions of the binding are. */
const failedAnnotations = async (
  annotations: readonly Expression[],
  plain: Activation,
  variables: Parameters<typeof withVariables>[1],
): Promise<string[]> => {
  const budget = { left: limits.celObjectCostMax }
  const activation = withVariables(plain, variables, budget)
  const problems: string[] = []
  for (const annotation of annotations)
    try {
      await evaluate(annotation, activation, budget)
    } catch (error) {
      if (!(error instanceof EvaluationError)) throw error
      problems.push(error.message)
    }
  return problems
}

const messageOf = async (
  { written, message }: CompiledValidation,
  activation: Activation,
  budget: Budget,
): Promise<string> => {
  const otherwise = written.message?.trim() || `failed expression: ${written.expression.trim()}`
  if (message === undefined) return otherwise
  try {
    const text = await evaluate(message, activation, budget)
    const trimmed = typeof text === 'string' ? text.trim() : ''
    const isShort = Buffer.byteLength(trimmed) <= limits.celMessageBytesMax
    return trimmed !== '' && isShort && !trimmed.includes('\n') ? trimmed : otherwise
  } catch (error) {
    if (!(error instanceof EvaluationError)) throw error
    return otherwise
  }
}

const findingsOf = async (
  ignores: boolean,
  validations: readonly CompiledValidation[],
  activation: Activation,
  budget: Budget,
): Promise<Finding[]> => {
  const findings: Finding[] = []
  for (const validation of validations) {
    const reason = validation.written.reason ?? 'Invalid'
    try {
      if ((await evaluate(validation.expression, activation, budget)) === true) continue
      findings.push({ message: await messageOf(validation, activation, budget), reason })
    } catch (error) {
      if (!(error instanceof EvaluationError)) throw error
      if (!ignores) findings.push({ message: error.message, reason: 'Invalid' })
      if (budget.left < 0) break
    }
  }
  return findings
}

const whoOf = (policy: KubeObject, binding: KubeObject | undefined): string => {
  const whose = binding === undefined ? '' : ` with binding '${binding.metadata.name}'`
  return `ValidatingAdmissionPolicy '${policy.metadata.name}'${whose}`
}

/** Warns at once; what denies is told when all policies were asked. */
const act = (
  attributes: AdmissionAttributes,
  { policy, binding }: BoundPolicy,
  finding: Finding,
  denials: ApiError[],
): void => {
  const who = whoOf(policy, binding)
  const actions: string[] = binding.spec.validationActions ?? []
  if (actions.includes('Deny')) denials.push(deny(attributes, who, finding))
  if (actions.includes('Warn'))
    attributes.ctx.warn(`Validation failed for ${who}: ${finding.message}`)
}

const applyPolicy = async (
  attributes: AdmissionAttributes,
  pair: BoundPolicy,
  means: PolicyMeans,
  denials: ApiError[],
): Promise<void> => {
  const { policy } = pair
  const version = await meantVersion(attributes, pair, means)
  if (version === undefined) return
  const params = await paramsOf(attributes, pair, means)
  if (params.length === 0) return
  const { conditions, variables, validations, annotations } = compiledPolicy(policy)
  const ignores = policy.spec.failurePolicy === 'Ignore'
  const seen = await seenByPolicy(attributes, version, pair)
  const object = attributes.operation === 'DELETE' ? null : (seen.object ?? null)
  const parts = {
    object,
    request: requestOf(seen),
    namespaceObject: await namespaceOf(attributes),
  }
  for (const param of params) {
    const budget = { left: limits.celObjectCostMax }
    const plain = activationOf(seen, { ...parts, params: param }, means.authorize)
    const activation = withVariables(plain, variables, budget)
    try {
      if (!(await conditionsHold(conditions, activation))) continue
    } catch (error) {
      if (!(error instanceof EvaluationError)) throw error
      if (!ignores) act(attributes, pair, { message: error.message, reason: 'Invalid' }, denials)
      continue
    }
    for (const finding of await findingsOf(ignores, validations, activation, budget))
      act(attributes, pair, finding, denials)
    for (const message of ignores ? [] : await failedAnnotations(annotations, plain, variables))
      denials.push(deny(attributes, whoOf(policy, pair.binding), { message, reason: 'Invalid' }))
  }
}

const applyPolicies = async (
  attributes: AdmissionAttributes,
  bound: readonly BoundPolicy[],
  means: PolicyMeans,
): Promise<void> => {
  const denials: ApiError[] = []
  for (const pair of bound) {
    try {
      await applyPolicy(attributes, pair, means, denials)
    } catch (error) {
      if (!(error instanceof Misconfigured)) throw error
      if (pair.policy.spec.failurePolicy === 'Ignore') continue
      // Upstream denies whatever the actions of the binding are.
      const who = whoOf(pair.policy, error.binding)
      denials.push(deny(attributes, who, { message: error.message, reason: 'Invalid' }))
    }
  }
  if (denials.length > 0) throw denials[0]
}

export const validatingAdmissionPolicy = (means: PolicyMeans): AdmissionPlugin => ({
  name: 'ValidatingAdmissionPolicy',
  validate: (attributes) =>
    whenKnown(boundPolicies(attributes, policies, bindings), (bound) =>
      bound.length === 0 ? undefined : applyPolicies(attributes, bound, means),
    ),
})
