/** How the versions of a definition convert: by nothing, or by a webhook (validateCustomResourceConversion). */
import { isConditionTrue } from '#api/conditions.js'
import {
  child,
  type FieldError,
  forbidden,
  invalid,
  notSupported,
  required,
} from '#api/field-error.js'
import { reviewVersionErrors, webhookClientErrors } from '#validation/webhook-client.js'
import { caBundleProblem } from './ca-bundle.js'
import type { CustomResourceDefinition } from './definition.js'

type Conversion = NonNullable<CustomResourceDefinition['spec']['conversion']>

const at = 'spec.conversion'
const configAt = `${at}.webhookClientConfig`
const versionsAt = `${at}.conversionReviewVersions`

const refuseWebhook = ({ webhook }: Conversion): FieldError[] => {
  const why = 'should not be set when strategy is not set to Webhook'
  return [
    ...(webhook?.clientConfig === undefined ? [] : [forbidden(configAt, why)]),
    ...((webhook?.conversionReviewVersions ?? []).length === 0 ? [] : [forbidden(versionsAt, why)]),
  ]
}

/** Authorities that cannot be read keep a definition from being established; one that is may not get them. */
const caBundleErrors = (
  next: CustomResourceDefinition,
  previous: CustomResourceDefinition | undefined,
): FieldError[] => {
  const mayBeWrong =
    previous === undefined ||
    !isConditionTrue(previous, 'Established') ||
    caBundleProblem(previous) !== undefined
  const problem = mayBeWrong ? undefined : caBundleProblem(next)
  const bundle = next.spec.conversion?.webhook?.clientConfig?.caBundle
  return problem === undefined ? [] : [invalid(child(configAt, 'caBundle'), bundle, problem)]
}

export const validateConversion = (
  next: CustomResourceDefinition,
  previous?: CustomResourceDefinition,
): FieldError[] => {
  const { conversion } = next.spec
  if (conversion === undefined) return []
  const { strategy, webhook } = conversion
  const errors: FieldError[] = []
  if (!strategy) errors.push(required(child(at, 'strategy')))
  else if (strategy !== 'None' && strategy !== 'Webhook')
    errors.push(notSupported(child(at, 'strategy'), strategy, ['None', 'Webhook']))
  if (strategy !== 'Webhook') return [...errors, ...refuseWebhook(conversion)]
  const config = webhook?.clientConfig
  errors.push(
    ...(config === undefined
      ? [required(configAt, 'required when strategy is set to Webhook')]
      : [...webhookClientErrors(config, configAt), ...caBundleErrors(next, previous)]),
  )
  const versions = webhook?.conversionReviewVersions ?? []
  errors.push(
    ...(versions.length === 0 ? [required(versionsAt)] : reviewVersionErrors(versions, versionsAt)),
  )
  return errors
}
