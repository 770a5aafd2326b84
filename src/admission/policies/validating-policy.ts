/** ValidatingAdmissionPolicies and their bindings (apiserver, pkg/admission/plugin/policy/validating). */

import { type ApiError, failure, resourceDetails } from '#api/errors.js'
import { formatGroupResource } from '#api/group-version.js'
import type { KubeObject } from '#api/object.js'
import { whenKnown } from '#async/when-known.js'
import { results } from '#cel/policy-environment.js'
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

/** Yields what is wrong with them: an annotation that cannot be made denies, whatever the actions of the binding are. */
const annotate = async (
  annotations: readonly CompiledAnnotation[],
  plain: Activation,
  variables: Parameters<typeof withVariables>[1],
  made: Annotations,
): Promise<string[]> => {
  const budget = { left: limits.celObjectCostMax }
  const activation = withVariables(plain, variables, budget)
  const problems: string[] = []
  for (const { key, value } of annotations)
    try {
      const found = await evaluate(value, activation, budget)
      const text = typeof found === 'string' ? trimSpace(found) : ''
      if (text === '') continue
      const cut = Buffer.from(text).subarray(0, limits.auditAnnotationBytesMax).toString()
      made.set(key, (made.get(key) ?? new Set()).add(cut))
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
  const otherwise =
    trimSpace(written.message ?? '') || `failed expression: ${trimSpace(written.expression)}`
  if (message === undefined) return otherwise
  try {
    const text = await evaluate(message, activation, budget)
    const trimmed = typeof text === 'string' ? trimSpace(text) : ''
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
  for (const [index, validation] of validations.entries()) {
    const reason = validation.written.reason ?? 'Invalid'
    try {
      if ((await evaluate(validation.expression, activation, budget)) === true) continue
      findings.push({
        message: await messageOf(validation, activation, budget),
        reason,
        index,
      })
    } catch (error) {
      if (!(error instanceof EvaluationError)) throw error
      if (!ignores) findings.push({ message: error.message, reason: 'Invalid', index })
      if (budget.left < 0) break
    }
  }
  return findings
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
      if (!ignores)
        act(attributes, pair, { message: error.message, reason: 'Invalid', index: 0 }, denials)
      continue
    }
    for (const finding of await findingsOf(ignores, validations, activation, budget))
      act(attributes, pair, finding, denials)
    if (ignores && attributes.ctx.audit === undefined) continue
    for (const message of await annotate(annotations, plain, variables, made))
      if (!ignores)
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
