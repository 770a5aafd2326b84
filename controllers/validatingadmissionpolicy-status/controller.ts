/**
 * Checks expressions of ValidatingAdmissionPolicies against the types of what they match, and writes what does not fit
 * into their status; upstream's validatingadmissionpolicy-status-controller. Admission does not go by it.
 */
import {
  formatGroupVersionKind,
  type GroupVersionKind,
  parseGroupVersion,
} from '#api/group-version.js'
import type { PersistedObject } from '#api/object.js'
import { declareType } from '#cel/schema-types.js'
import { type NamedExpression, typeChecker } from '#cel/type-check-policy.js'
import { discoverVersions } from '#client/discovery.js'
import { keyOf } from '#client/object-store.js'
import { apiVersionOf, resources } from '#client/resources.js'
import {
  type Controller,
  type ControllerContext,
  newQueue,
  queueRun,
  syncStored,
} from '../controller.js'
import { matchedKinds, type ResourceRule } from './matched-kinds.js'
import { OpenApiSchemas } from './openapi-schemas.js'

interface Policy extends PersistedObject {
  spec: {
    paramKind?: { apiVersion: string; kind: string }
    matchConstraints?: { resourceRules?: ResourceRule[] }
    variables?: NamedExpression[]
    validations?: { expression: string; messageExpression?: string }[]
  }
  status?: { observedGeneration?: number }
}

const policies = resources.validatingAdmissionPolicies
const fieldManager = 'validatingadmissionpolicy-status'

const paramsOf = ({ paramKind }: Policy['spec']): GroupVersionKind | undefined => {
  const groupVersion = paramKind && parseGroupVersion(paramKind.apiVersion)
  return groupVersion && { ...groupVersion, kind: paramKind.kind }
}

/** For each expression of the policy that does not fit a kind: where it stands, and a line for each such kind. */
const expressionWarnings = async (
  { client }: Pick<ControllerContext, 'client'>,
  { spec }: Policy,
): Promise<{ fieldRef: string; warning: string }[]> => {
  const rules = spec.matchConstraints?.resourceRules ?? []
  const schemas = new OpenApiSchemas(client)
  const declaredOf = async (gvk: GroupVersionKind, suffix: string) => {
    const schema = await schemas.schemaOf(gvk)
    return schema && declareType(schema, `${gvk.kind}${suffix}`, true)
  }
  const paramKind = paramsOf(spec)
  const params = paramKind && { declared: await declaredOf(paramKind, '1') }
  const checks: { kind: string; check: (text: string) => string | undefined }[] = []
  for (const gvk of matchedKinds(rules, (await discoverVersions(client)).resources)) {
    const object = await declaredOf(gvk, '0')
    if (object === undefined) continue
    const kind = formatGroupVersionKind(gvk)
    checks.push({
      kind,
      check: typeChecker({ object, ...(params && { params }) }, spec.variables ?? []),
    })
  }
  const warn = (fieldRef: string, text: string) => {
    const lines = checks.flatMap(({ kind, check }) => {
      const issues = check(text)
      return issues === undefined ? [] : [`${kind}: ${issues}\n`]
    })
    return lines.length === 0 ? [] : [{ fieldRef, warning: lines.join('\n') }]
  }
  return (spec.validations ?? []).flatMap(({ expression, messageExpression }, i) => [
    ...warn(`spec.validations[${i}].expression`, expression),
    ...(messageExpression
      ? warn(`spec.validations[${i}].messageExpression`, messageExpression)
      : []),
  ])
}

const sync = async (context: ControllerContext, policy: Policy): Promise<void> => {
  const { name, uid, generation = 0 } = policy.metadata
  if (generation <= (policy.status?.observedGeneration ?? 0)) return
  const warnings = await expressionWarnings(context, policy)
  const status = {
    observedGeneration: generation,
    typeChecking: warnings.length === 0 ? {} : { expressionWarnings: warnings },
  }
  await context.client.patch(
    policies,
    { name },
    // The next policy of that name begins to count its generations anew.
    { apiVersion: apiVersionOf(policies), kind: policies.kind, metadata: { name, uid }, status },
    { type: 'apply', subresource: 'status', fieldManager, force: true },
  )
}

export const policyStatusController: Controller = {
  name: 'validatingadmissionpolicy-status-controller',
  start(context) {
    const informer = context.informers.for<Policy>(policies)
    const queue = newQueue(context, 'validatingadmissionpolicy-status')
    const enqueue = (policy: Policy) => queue.add(keyOf(policy))
    informer.handle({ onAdd: enqueue, onUpdate: enqueue })
    return queueRun(
      context,
      queue,
      syncStored(informer, (policy) => sync(context, policy)),
    )
  },
}
