/**
 * Definitions in groups of the Kubernetes community need an approval (KEP-2337): an annotation has it, and a condition
 * shows the outcome.
 */
import { goQuote } from '#go/quote.js'
import { parseRequestUri } from '#go/url.js'
import type { CustomResourceDefinition, DefinitionCondition } from './definition.js'

export const approvalAnnotation = 'api-approved.kubernetes.io'

type Approval = 'missing' | 'bypassed' | 'approved' | 'invalid'

export const isProtectedGroup = (group: string | undefined): boolean =>
  /(^|\.)(k8s|kubernetes)\.io$/.test(group ?? '')

export const approvalOf = ({ metadata }: CustomResourceDefinition): Approval => {
  const value = metadata.annotations?.[approvalAnnotation]
  if (!value) return 'missing'
  if (value.startsWith('unapproved')) return 'bypassed'
  const url = parseRequestUri(value)
  return typeof url !== 'string' && url.scheme !== '' && url.host !== '' ? 'approved' : 'invalid'
}

const see = 'see https://github.com/kubernetes/enhancements/pull/1111'
const must = `protected groups must have approval annotation "${approvalAnnotation}"`
export const approvalNeeded = {
  missing: `${must}, ${see}`,
  invalid: `${must} with either a URL or a reason starting with "unapproved", ${see}`,
} as const

/** Undefined for groups that need none (apiextensions, apiapproval_controller.go). */
export const approvalCondition = (
  definition: CustomResourceDefinition,
): DefinitionCondition | undefined => {
  if (!isProtectedGroup(definition.spec.group)) return undefined
  const value = definition.metadata.annotations?.[approvalAnnotation] ?? ''
  const { status, reason, message } = {
    missing: { status: 'False', reason: 'MissingAnnotation', message: approvalNeeded.missing },
    bypassed: {
      status: 'False',
      reason: 'UnapprovedAnnotation',
      message: `not approved: ${goQuote(value)}`,
    },
    approved: { status: 'True', reason: 'ApprovedAnnotation', message: `approved in ${value}` },
    invalid: { status: 'False', reason: 'InvalidAnnotation', message: approvalNeeded.invalid },
  }[approvalOf(definition)] as Pick<DefinitionCondition, 'status' | 'reason' | 'message'>
  return { type: 'KubernetesAPIApprovalPolicyConformant', status, reason, message }
}
