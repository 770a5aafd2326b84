/** How the versions of a definition convert: by nothing, or by a webhook (validateCustomResourceConversion). */
import {
  child,
  type FieldError,
  forbidden,
  invalid,
  notSupported,
  required,
} from '#api/field-error.js'
import type { CustomResourceDefinition } from './definition.js'

const refuseWebhook = (
  webhook: NonNullable<CustomResourceDefinition['spec']['conversion']>['webhook'],
): FieldError[] => {
  const why = 'should not be set when strategy is not set to Webhook'
  const at = 'spec.conversion'
  return [
    ...(webhook?.clientConfig === undefined ? [] : [forbidden(`${at}.webhookClientConfig`, why)]),
    ...((webhook?.conversionReviewVersions ?? []).length === 0
      ? []
      : [forbidden(`${at}.conversionReviewVersions`, why)]),
  ]
}

export const validateConversion = (
  conversion: CustomResourceDefinition['spec']['conversion'],
): FieldError[] => {
  if (conversion === undefined) return []
  const { strategy, webhook } = conversion
  if (!strategy) return [required('spec.conversion.strategy')]
  if (strategy !== 'None' && strategy !== 'Webhook')
    return [notSupported('spec.conversion.strategy', strategy, ['None', 'Webhook'])]
  if (strategy === 'None') return refuseWebhook(webhook)
  const errors: FieldError[] = []
  const at = 'spec.conversion.webhookClientConfig'
  const config = webhook?.clientConfig
  if (config === undefined) errors.push(required(at, 'required when strategy is set to Webhook'))
  else if ((config.url === undefined) === (config.service === undefined))
    errors.push(required(at, 'exactly one of url or service is required'))
  else if (config.url !== undefined)
    errors.push(...validateWebhookUrl(config.url, child(at, 'url')))
  const versions = webhook?.conversionReviewVersions ?? []
  if (versions.length === 0) errors.push(required('spec.conversion.conversionReviewVersions'))
  else if (!versions.some((v) => v === 'v1' || v === 'v1beta1'))
    errors.push(
      invalid(
        'spec.conversion.conversionReviewVersions',
        versions,
        'must include at least one of v1, v1beta1',
      ),
    )
  return errors
}

const validateWebhookUrl = (text: string, path: string): FieldError[] => {
  const form = '; desired format: https://host[/path]'
  let url: URL
  try {
    url = new URL(text)
  } catch {
    return [required(path, `url must be a valid URL: parse ${JSON.stringify(text)}${form}`)]
  }
  const scheme = url.protocol.slice(0, -1)
  return scheme === 'https'
    ? []
    : [invalid(path, scheme, `'https' is the only allowed URL scheme${form}`)]
}
