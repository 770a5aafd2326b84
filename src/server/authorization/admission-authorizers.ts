/** The authorizer as admission asks it. */

import type { AuthorizeSigner } from '#admission/certificates.js'
import type { Authorize } from '#admission/policies/cel.js'
import { whenKnown } from '#async/when-known.js'
import {
  type Authorizer,
  type Decision,
  errorOf,
  fieldRequirements,
  labelRequirements,
} from '#authz/authorizer.js'
import type { Answer } from '#cel/functions/authorizer.js'

/** Answers the checks that expressions of policies make. */
export const answerExpressions =
  (authorizer: Authorizer): Authorize =>
  (question) => {
    const { subject, verb, path = '', group = '', resource = '' } = question
    const decided = authorizer.authorize({
      user: { ...subject, name: subject.username },
      verb,
      isResourceRequest: question.path === undefined,
      path,
      apiGroup: group,
      apiVersion: question.path === undefined ? '*' : '',
      resource,
      subresource: question.subresource ?? '',
      namespace: question.namespace ?? '',
      name: question.name ?? '',
      fieldSelector: fieldRequirements(question.fieldSelector ?? ''),
      labelSelector: labelRequirements(question.labelSelector ?? ''),
    })
    const answer = (made: Decision): Answer => ({
      allowed: made.decision === 'allow',
      reason: made.reason,
      ...(made.errors && { error: errorOf(made) }),
    })
    return whenKnown(decided, answer)
  }

/** Approving and signing are verbs on `signers`, of which there are no objects. */
export const authorizeSigner =
  (authorizer: Authorizer): AuthorizeSigner =>
  async (user, verb, name) => {
    const { decision } = await authorizer.authorize({
      user,
      verb,
      isResourceRequest: true,
      path: '',
      apiGroup: 'certificates.k8s.io',
      apiVersion: '*',
      resource: 'signers',
      subresource: '',
      namespace: '',
      name,
    })
    return decision === 'allow'
  }
