/** ValidatingAdmissionPolicies and their bindings (apiserver, pkg/admission/plugin/policy/validating). */

import { type ApiError, failure, resourceDetails } from '#api/errors.js'
import { formatGroupResource } from '#api/group-version.js'
import type { KubeObject } from '#api/object.js'
import { whenKnown } from '#async/when-known.js'
import { results } from '#cel/policy-environment.js'
import type { CelValue } from '#cel/values.js'
import { goQuote } from '#go/quote.js'
import { trimSpace } from '#go/trim-space.js'
import { stringify } from '#json/json.js'
import { limits } from '#limits'
import type { AdmissionAttributes } from '#registry/admission.js'
import { annotateAudit } from '../audit-annotations.js'
import { type AdmissionPlugin, refusedName } from '../plugin.js'
import {
  type Activation,
  activationOf,
  type Budget,
  compile,
  conditionsHold,
  EvaluationError,
  type Expression,
  evaluate,
  OutOfBudget,
} from './cel.js'
import { compiledOnce, compilePolicy, withVariables } from './compiled-policy.js'
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
  /** The index of the validation. */
  index: number
}
interface Validation {
  expression: string
  message?: string
  messageExpression?: string
  reason?: string
}

const deny = (
  attributes: AdmissionAttributes,
  who: string,
  finding: Omit<Finding, 'index'>,
): ApiError => {
  const { resource } = attributes
  const cause = `${who} denied request: ${finding.message}`
  const shown = refusedName(attributes)
  return failure({
    code: codes[finding.reason] ?? 422,
    reason: finding.reason,
    message: `${formatGroupResource(resource)} ${goQuote(shown)} is forbidden: ${cause}`,
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
  const annotations = (
    (policy.spec.auditAnnotations ?? []) as { key: string; valueExpression: string }[]
  ).map(({ key, valueExpression }) => ({
    key,
    value: compile(valueExpression, names, results.textOrNull),
  }))
  return { ...compiled, validations, annotations }
})

interface CompiledAnnotation {
  readonly key: string
  readonly value: Expression
}

/** Values by key, for each binding and parameter one; the same is told once. */
type Annotations = Map<string, Set<string>>

/** What came of an expression. Rejects with OutOfBudget. */
const outcomeOf = (
  expression: Expression,
  activation: Activation,
  budget: Budget,
): Promise<CelValue | EvaluationError> =>
  evaluate(expression, activation, budget).catch((error: unknown) => {
    if (error instanceof OutOfBudget || !(error instanceof EvaluationError)) throw error
    return error
  })

/**
 * Yields what is wrong with them: an annotation that cannot be made denies, whatever the actions of the binding are. Rejects
 * with OutOfBudget.
 */
const annotate = async (
  annotations: readonly CompiledAnnotation[],
  plain: Activation,
  variables: Parameters<typeof withVariables>[1],
  made: Annotations,
): Promise<string[]> => {
  const budget = { left: limits.celObjectCostMax }
  const activation = withVariables(plain, variables, budget)
  const problems: string[] = []
  const texts: [key: string, text: string][] = []
  for (const { key, value } of annotations) {
    const found = await outcomeOf(value, activation, budget)
    if (found instanceof EvaluationError) problems.push(found.message)
    else if (typeof found === 'string') texts.push([key, trimSpace(found)])
  }
  for (const [key, text] of texts) {
    if (text === '') continue
    const cut = Buffer.from(text).subarray(0, limits.auditAnnotationBytesMax).toString()
    made.set(key, (made.get(key) ?? new Set()).add(cut))
  }
  return problems
}

/** `made`: what came of its messageExpression. */
const messageOf = ({ written }: CompiledValidation, made: CelValue | EvaluationError): string => {
  const trimmed = typeof made === 'string' ? trimSpace(made) : ''
  const isShort = Buffer.byteLength(trimmed) <= limits.celMessageBytesMax
  if (trimmed !== '' && isShort && !trimmed.includes('\n')) return trimmed
  return trimSpace(written.message ?? '') || `failed expression: ${trimSpace(written.expression)}`
}

/** All of them, since they share the budget; why there is none where it is spent. */
const messagesOf = async (
  validations: readonly CompiledValidation[],
  activation: Activation,
  budget: Budget,
): Promise<(CelValue | EvaluationError)[] | OutOfBudget> => {
  const made: (CelValue | EvaluationError)[] = []
  try {
    for (const { message } of validations)
      made.push(message === undefined ? null : await outcomeOf(message, activation, budget))
    return made
  } catch (error) {
    if (error instanceof OutOfBudget) return error
    throw error
  }
}

/** Upstream makes the messages also where nothing has failed. Rejects with OutOfBudget. */
const findingsOf = async (
  ignores: boolean,
  validations: readonly CompiledValidation[],
  activation: Activation,
  budget: Budget,
): Promise<Finding[]> => {
  const outcomes: (CelValue | EvaluationError)[] = []
  for (const { expression } of validations)
    outcomes.push(await outcomeOf(expression, activation, budget))
  const messages = await messagesOf(validations, activation, budget)
  return outcomes.flatMap((outcome, index): Finding[] => {
    const problem =
      outcome instanceof EvaluationError
        ? outcome.message
        : messages instanceof OutOfBudget
          ? `failed messageExpression: ${messages.message}`
          : undefined
    if (problem !== undefined)
      return ignores ? [] : [{ message: problem, reason: 'Invalid', index }]
    if (outcome === true || messages instanceof OutOfBudget) return []
    const validation = validations[index]!
    const { reason = 'Invalid' } = validation.written
    return [{ message: messageOf(validation, messages[index]!), reason, index }]
  })
}

const whoOf = (policy: KubeObject, binding: KubeObject | undefined): string => {
  const whose = binding === undefined ? '' : ` with binding '${binding.metadata.name}'`
  return `ValidatingAdmissionPolicy '${policy.metadata.name}'${whose}`
}

const auditFailure = (
  { ctx }: AdmissionAttributes,
  { policy, binding }: BoundPolicy,
  { message, index }: Finding,
): void =>
  ctx.audit?.annotate(
    'validation.policy.admission.k8s.io/validation_failure',
    stringify([
      {
        message,
        policy: policy.metadata.name,
        binding: binding.metadata.name,
        expressionIndex: index,
        validationActions: binding.spec.validationActions,
      },
    ]),
  )

/** Warns at once; a denial is thrown when all policies have been asked. */
const act = (
  attributes: AdmissionAttributes,
  { policy, binding }: BoundPolicy,
  finding: Finding,
  denials: ApiError[],
): void => {
  const who = whoOf(policy, binding)
  const actions: string[] = binding.spec.validationActions ?? []
  if (actions.includes('Deny')) denials.push(deny(attributes, who, finding))
  if (actions.includes('Audit')) auditFailure(attributes, { policy, binding }, finding)
  if (actions.includes('Warn'))
    attributes.ctx.warn(`Validation failed for ${who}: ${finding.message}`)
}

const applyPolicy = async (
  attributes: AdmissionAttributes,
  pair: BoundPolicy,
  means: PolicyMeans,
  { denials, made }: { denials: ApiError[]; made: Annotations },
): Promise<void> => {
  const { policy } = pair
  const version = await meantVersion(attributes, pair, means)
  if (version === undefined) return
  const params = await paramsOf(attributes, pair, means)
  if (params.length === 0) return
  const { conditions, variables, validations, annotations } = compiledPolicy(policy)
  const ignores = policy.spec.failurePolicy === 'Ignore'
  const seen = await seenByPolicy(attributes, version, pair)
  const parts = {
    object: seen.object ?? null,
    request: requestOf(seen),
    namespaceObject: await namespaceOf(attributes),
  }
  for (const param of params) {
    const budget = { left: limits.celObjectCostMax }
    const plain = activationOf(seen, { ...parts, params: param }, means.authorize)
    const activation = withVariables(plain, variables, budget)
    let findings: Finding[]
    let problems: string[] = []
    try {
      if (!(await conditionsHold(conditions, activation))) continue
      findings = await findingsOf(ignores, validations, activation, budget)
      if (!ignores || attributes.ctx.audit !== undefined)
        problems = await annotate(annotations, plain, variables, made)
    } catch (error) {
      if (!(error instanceof EvaluationError)) throw error
      findings = [{ message: error.message, reason: 'Invalid', index: 0 }]
      if (ignores) continue
    }
    for (const finding of findings) act(attributes, pair, finding, denials)
    for (const message of ignores ? [] : problems)
      denials.push(deny(attributes, whoOf(policy, pair.binding), { message, reason: 'Invalid' }))
  }
}

const applyPolicies = async (
  attributes: AdmissionAttributes,
  bound: readonly BoundPolicy[],
  means: PolicyMeans,
): Promise<void> => {
  const denials: ApiError[] = []
  const annotations = new Map<KubeObject, Annotations>()
  for (const pair of bound) {
    let made = annotations.get(pair.policy)
    if (made === undefined) annotations.set(pair.policy, (made = new Map()))
    try {
      await applyPolicy(attributes, pair, means, { denials, made })
    } catch (error) {
      if (!(error instanceof Misconfigured)) throw error
      if (pair.policy.spec.failurePolicy === 'Ignore') continue
      // Upstream denies whatever the actions of the binding are.
      const who = whoOf(pair.policy, error.binding)
      denials.push(deny(attributes, who, { message: error.message, reason: 'Invalid' }))
    }
  }
  for (const [policy, made] of annotations)
    for (const [key, values] of made)
      annotateAudit(attributes, `${policy.metadata.name}/${key}`, [...values].join(', '))
  if (denials.length > 0) throw denials[0]
}

export const validatingAdmissionPolicy = (means: PolicyMeans): AdmissionPlugin => ({
  name: 'ValidatingAdmissionPolicy',
  validate: (attributes) =>
    whenKnown(boundPolicies(attributes, policies, bindings), (bound) =>
      bound.length === 0 ? undefined : applyPolicies(attributes, bound, means),
    ),
})
