/** ValidatingAdmissionPolicies and their bindings (apiserver, pkg/admission/plugin/policy/validating). */
import { randomUUID } from 'node:crypto'
import { failure } from '#api/errors.js'
import {
  formatGroupResource,
  type GroupResource,
  type GroupVersionKind,
  parseGroupVersion,
} from '#api/group-version.js'
import type { KubeObject } from '#api/object.js'
import type { AdmissionAttributes } from '#registry/admission.js'
import { type CelContext, conditionsHold, evaluate, toCel } from './cel.js'
import { type AdmissionPlugin, findObject, listObjects } from './plugin.js'
import { admissionRequest, matchesRequest, selectsLabels } from './request-match.js'

const group = 'admissionregistration.k8s.io'
const policies = { group, resource: 'validatingadmissionpolicies' }
const bindings = { group, resource: 'validatingadmissionpolicybindings' }

const codes: Readonly<Record<string, number>> = {
  Invalid: 422,
  Forbidden: 403,
  RequestEntityTooLarge: 413,
  Unauthorized: 401,
}

/** The resource behind a kind; undefined for an unknown one. */
export type ResourceOfKind = (
  kind: GroupVersionKind,
) => (GroupResource & { namespaced: boolean }) | undefined

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
  const { resource, object, name } = attributes
  const cause = `${who} denied request: ${finding.message}`
  const shown = name || (object?.metadata?.name ?? '')
  return failure({
    code: codes[finding.reason] ?? 422,
    reason: finding.reason,
    message: `${formatGroupResource(resource)} ${JSON.stringify(shown)} is forbidden: ${cause}`,
    details: {
      ...(shown === '' ? {} : { name: shown }),
      ...(resource.group === '' ? {} : { group: resource.group }),
      kind: resource.resource,
      causes: [{ message: cause }],
    },
  })
}

const baseContext = async (attributes: AdmissionAttributes): Promise<CelContext> => {
  const { ctx, namespace, object, oldObject, operation } = attributes
  const namespaceObject =
    namespace === ''
      ? undefined
      : await findObject(ctx, { group: '', resource: 'namespaces' }, { name: namespace })
  return {
    object: operation === 'DELETE' ? null : toCel(object ?? null),
    oldObject: toCel(oldObject ?? null),
    request: toCel(admissionRequest(attributes, randomUUID())),
    namespaceObject: toCel(namespaceObject ?? null),
    params: null,
  }
}

/** Each variable sees those before it. One that fails makes every expression fail that names it. */
const withVariables = async (
  variables: readonly { name: string; expression: string }[],
  context: CelContext,
): Promise<CelContext> => {
  let all: Record<string, unknown> = {}
  for (const { name, expression } of variables) {
    try {
      all = { ...all, [name]: await evaluate(expression, { ...context, variables: all }) }
    } catch {
      // The expression that names the variable reports that it is missing.
    }
  }
  return { ...context, variables: all }
}

const messageOf = async (validation: Validation, context: CelContext): Promise<string> => {
  const otherwise =
    validation.message?.trim() || `failed expression: ${validation.expression.trim()}`
  if (!validation.messageExpression) return otherwise
  try {
    const text = await evaluate(validation.messageExpression, context)
    return typeof text === 'string' && text.trim() !== '' && !text.includes('\n')
      ? text.trim()
      : otherwise
  } catch {
    return otherwise
  }
}

const firstFinding = async (
  policy: KubeObject,
  context: CelContext,
): Promise<Finding | undefined> => {
  const ignores = policy.spec.failurePolicy === 'Ignore'
  for (const validation of (policy.spec.validations ?? []) as Validation[]) {
    const reason = validation.reason ?? 'Invalid'
    try {
      if ((await evaluate(validation.expression, context)) === true) continue
      return { message: await messageOf(validation, context), reason }
    } catch (error) {
      if (ignores) continue
      const why = (error as Error).message
      const message = `expression '${validation.expression.trim()}' resulted in error: ${why}`
      return { message, reason: 'Invalid' }
    }
  }
  return undefined
}

/** The parameters of a binding: [null] for a policy without any; 'deny' when they must exist and do not. */
const paramsOf = async (
  attributes: AdmissionAttributes,
  { policy, binding }: { policy: KubeObject; binding: KubeObject },
  resourceOfKind: ResourceOfKind,
): Promise<readonly (KubeObject | null)[] | 'deny'> => {
  const { paramKind } = policy.spec
  const ref = binding.spec.paramRef
  if (!paramKind || !ref) return [null]
  const version = parseGroupVersion(paramKind.apiVersion ?? '') ?? { group: '', version: '' }
  const resource = resourceOfKind({ ...version, kind: paramKind.kind })
  const notFound = ref.parameterNotFoundAction === 'Allow' ? [] : 'deny'
  if (resource === undefined) return notFound
  const namespace = resource.namespaced ? ref.namespace || attributes.namespace : undefined
  if (ref.name) {
    const found = await findObject(attributes.ctx, resource, { name: ref.name, namespace })
    return found === undefined ? notFound : [found]
  }
  const all = await listObjects(attributes.ctx, resource, namespace)
  const selected = all.filter((o) => selectsLabels(ref.selector, o.metadata.labels ?? {}))
  return selected.length === 0 ? notFound : selected
}

const act = (
  attributes: AdmissionAttributes,
  { policy, binding }: { policy: KubeObject; binding: KubeObject },
  finding: Finding,
): void => {
  const who = `ValidatingAdmissionPolicy '${policy.metadata.name}' with binding '${binding.metadata.name}'`
  const actions: string[] = binding.spec.validationActions ?? []
  if (actions.includes('Deny')) throw deny(attributes, who, finding)
  if (actions.includes('Warn'))
    attributes.ctx.warn(`Validation failed for ${who}: ${finding.message}`)
}

const applyPolicy = async (
  attributes: AdmissionAttributes,
  pair: { policy: KubeObject; binding: KubeObject },
  resourceOfKind: ResourceOfKind,
): Promise<void> => {
  const { policy, binding } = pair
  if (!(await matchesRequest(policy.spec.matchConstraints ?? {}, attributes))) return
  const narrowed = binding.spec.matchResources
  if (narrowed) {
    const rules = narrowed.resourceRules ?? policy.spec.matchConstraints?.resourceRules
    if (!(await matchesRequest({ ...narrowed, resourceRules: rules }, attributes))) return
  }
  const base = await baseContext(attributes)
  const params = await paramsOf(attributes, pair, resourceOfKind)
  if (params === 'deny') {
    const message =
      'failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction'
    act(attributes, pair, { message, reason: 'Invalid' })
    return
  }
  for (const param of params) {
    const context = { ...base, params: toCel(param) }
    try {
      if (!(await conditionsHold(policy.spec.matchConditions ?? [], context))) continue
    } catch (error) {
      if (policy.spec.failurePolicy === 'Ignore') continue
      act(attributes, pair, { message: (error as Error).message, reason: 'Invalid' })
      continue
    }
    const finding = await firstFinding(
      policy,
      await withVariables(policy.spec.variables ?? [], context),
    )
    if (finding !== undefined) act(attributes, pair, finding)
  }
}

export const validatingAdmissionPolicy = (resourceOfKind: ResourceOfKind): AdmissionPlugin => ({
  name: 'ValidatingAdmissionPolicy',
  validate: async (attributes) => {
    const bound = await listObjects(attributes.ctx, bindings)
    for (const binding of bound) {
      const name: string = binding.spec?.policyName ?? ''
      const policy = await findObject(attributes.ctx, policies, { name })
      if (policy !== undefined) await applyPolicy(attributes, { policy, binding }, resourceOfKind)
    }
  },
})
