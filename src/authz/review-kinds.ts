/** Access reviews, which ask the authorizer. Upstream: pkg/registry/authorization. */

import { badRequest, invalid } from '#api/errors.js'
import { type FieldError, invalid as invalidField } from '#api/field-error.js'
import type { KubeObject } from '#api/object.js'
import type { UserInfo } from '#api/user-info.js'
import { aggregate } from '#go/aggregate.js'
import type { JsonObject } from '#json/value.js'
import type {
  KindDefinition,
  RequestContext,
  ValidateAdmission,
} from '#registry/resource-definition.js'
import { type Attributes, type Authorizer, errorOf } from './authorizer.js'
import type { PolicyRule } from './rbac-rules.js'
import {
  followedFields,
  followedLabels,
  selectorComplaints,
  selectorErrors,
} from './review-selectors.js'
import type { ReviewSpec } from './review-spec.js'
import type { RuleResolver, RulesOfUser } from './rule-resolver.js'

const group = 'authorization.k8s.io'

/** Upstream prints its internal type, whose fields have Go's names. */
const printedPath = ({ path = '', verb = '' }: { path?: string; verb?: string }) => ({
  Path: path,
  Verb: verb,
})

const specErrors = (spec: ReviewSpec): FieldError[] => {
  const { resourceAttributes, nonResourceAttributes } = spec
  if (resourceAttributes !== undefined && nonResourceAttributes !== undefined)
    return [
      invalidField(
        'spec.nonResourceAttributes',
        printedPath(nonResourceAttributes),
        'cannot be specified in combination with resourceAttributes',
      ),
    ]
  if (resourceAttributes === undefined && nonResourceAttributes === undefined)
    return [
      invalidField(
        'spec.resourceAttributes',
        null,
        'exactly one of nonResourceAttributes or resourceAttributes must be specified',
      ),
    ]
  return []
}

const userErrors = ({ user = '', groups = [] }: ReviewSpec): FieldError[] =>
  user === '' && groups.length === 0
    ? [invalidField('spec.user', user, 'at least one of user or group must be specified')]
    : []

const metadataErrors = (
  metadata: KubeObject['metadata'],
  allowed: readonly string[],
): FieldError[] =>
  Object.keys(metadata).some((key) => key !== 'managedFields' && !allowed.includes(key))
    ? [
        invalidField(
          'metadata',
          metadata,
          allowed.length === 0 ? 'must be empty' : 'must be empty except for namespace',
        ),
      ]
    : []

const localErrors = (spec: ReviewSpec, namespace: string): FieldError[] => {
  const { resourceAttributes, nonResourceAttributes } = spec
  const errors: FieldError[] = []
  if (resourceAttributes !== undefined && (resourceAttributes.namespace ?? '') !== namespace)
    errors.push(
      invalidField(
        'spec.resourceAttributes.namespace',
        resourceAttributes.namespace ?? '',
        'must match metadata.namespace',
      ),
    )
  if (nonResourceAttributes !== undefined)
    errors.push(
      invalidField(
        'spec.nonResourceAttributes',
        printedPath(nonResourceAttributes),
        'disallowed on this kind of request',
      ),
    )
  return errors
}

const refuse = (errors: FieldError[]): void => {
  // Upstream names no kind in these.
  if (errors.length > 0) throw invalid({ group, kind: '' }, '', errors)
}

const attributesOf = (
  user: UserInfo,
  { resourceAttributes, nonResourceAttributes }: ReviewSpec,
): Attributes => ({
  user,
  verb: resourceAttributes?.verb ?? nonResourceAttributes?.verb ?? '',
  isResourceRequest: resourceAttributes !== undefined,
  path: nonResourceAttributes?.path ?? '',
  apiGroup: resourceAttributes?.group ?? '',
  apiVersion: resourceAttributes === undefined ? '' : resourceAttributes.version || '*',
  resource: resourceAttributes?.resource ?? '',
  subresource: resourceAttributes?.subresource ?? '',
  namespace: resourceAttributes?.namespace ?? '',
  name: resourceAttributes?.name ?? '',
  fieldSelector: followedFields(resourceAttributes?.fieldSelector),
  labelSelector: followedLabels(resourceAttributes?.labelSelector),
})

const statusOf = async (
  authorizer: Authorizer,
  user: UserInfo,
  spec: ReviewSpec,
): Promise<JsonObject> => {
  const made = await authorizer.authorize(attributesOf(user, spec))
  const { decision, reason } = made
  const problems = [errorOf(made), selectorComplaints(spec.resourceAttributes)]
  const evaluationError = problems.filter((problem) => problem !== '').join('; ')
  return {
    allowed: decision === 'allow',
    ...(decision === 'deny' ? { denied: true } : {}),
    ...(reason === '' ? {} : { reason }),
    ...(evaluationError === '' ? {} : { evaluationError }),
  }
}

const userOf = ({ user = '', groups = [], uid, extra }: ReviewSpec): UserInfo => ({
  name: user,
  groups,
  ...(uid === undefined ? {} : { uid }),
  ...(extra === undefined ? {} : { extra }),
})

const review = (
  kind: string,
  answer: (body: KubeObject, ctx: RequestContext, admit: ValidateAdmission) => Promise<KubeObject>,
): KindDefinition => ({
  group,
  version: 'v1',
  kind,
  strategy: { createInstead: ({ body, admit }, ctx) => answer(body, ctx, admit) },
  sample: { metadata: {} },
})

const accessReview = (
  kind: string,
  authorizer: Authorizer,
  { isSelf = false, isLocal = false } = {},
): KindDefinition =>
  review(kind, async (body, ctx, admit) => {
    const spec = (body.spec ?? {}) as ReviewSpec
    const namespace = ctx.namespace ?? ''
    refuse([
      ...specErrors(spec),
      ...(isSelf ? [] : userErrors(spec)),
      ...selectorErrors(spec.resourceAttributes),
      ...metadataErrors(body.metadata, isLocal ? ['namespace'] : []),
      ...(isLocal ? localErrors(spec, namespace) : []),
    ])
    await admit()
    const metadata = isLocal ? { ...body.metadata, namespace } : body.metadata
    const status = await statusOf(authorizer, isSelf ? ctx.user : userOf(spec), spec)
    return { ...body, metadata, status }
  })

const ruleJson = ({ verbs = [], apiGroups, resources, resourceNames }: PolicyRule): JsonObject => ({
  verbs: [...verbs],
  ...(apiGroups?.length ? { apiGroups: [...apiGroups] } : {}),
  ...(resources?.length ? { resources: [...resources] } : {}),
  ...(resourceNames?.length ? { resourceNames: [...resourceNames] } : {}),
})

/** For `kubectl auth can-i --list`. */
const rulesStatus = ({ rules, errors, isIncomplete = false }: RulesOfUser): JsonObject => {
  const problem = aggregate(errors.map(({ message }) => message))
  return {
    resourceRules: rules.filter((rule) => rule.resources?.length).map(ruleJson),
    nonResourceRules: rules
      .filter((rule) => rule.nonResourceURLs?.length)
      .map(({ verbs = [], nonResourceURLs = [] }) => ({
        verbs: [...verbs],
        nonResourceURLs: [...nonResourceURLs],
      })),
    incomplete: isIncomplete,
    ...(problem === undefined ? {} : { evaluationError: problem }),
  }
}

export const authorizationKinds = (
  authorizer: Authorizer,
  resolver: RuleResolver,
): KindDefinition[] => [
  accessReview('SelfSubjectAccessReview', authorizer, { isSelf: true }),
  accessReview('SubjectAccessReview', authorizer),
  accessReview('LocalSubjectAccessReview', authorizer, { isLocal: true }),
  review('SelfSubjectRulesReview', async (body, ctx, admit) => {
    const namespace = ((body.spec ?? {}) as { namespace?: string }).namespace ?? ''
    if (namespace === '') throw badRequest('no namespace on request')
    await admit()
    // Upstream answers with an object of its own, whatever was asked.
    return {
      ...body,
      metadata: {},
      spec: {},
      status: rulesStatus(await resolver.rulesFor(ctx.user, namespace)),
    }
  }),
]
