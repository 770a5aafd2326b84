/** Where a webhook is: a URL or a service of the cluster (apiserver, pkg/util/webhook/validation.go). */

import { each, makeRepeatCheck } from '#api/each.js'
import { child, type FieldError, invalid, required } from '#api/field-error.js'
import { isDns1123Subdomain } from '#api/names.js'
import { parseUrl } from '#go/url.js'
import { validDns1035Label } from './formats.js'
import { isPort, portMessage } from './network.js'

interface WebhookService {
  name?: string
  namespace?: string
  path?: string
  port?: number
}
export interface WebhookClientConfig {
  url?: string
  service?: WebhookService
  caBundle?: string
}

export const reviewVersions: readonly string[] = ['v1', 'v1beta1']

const urlErrors = (text: string, path: string): FieldError[] => {
  const form = '; desired format: https://host[/path]'
  const url = parseUrl(text)
  if (typeof url === 'string') return [required(path, `url must be a valid URL: ${url}${form}`)]
  const errors: FieldError[] = []
  if (url.scheme !== 'https')
    errors.push(invalid(path, url.scheme, `'https' is the only allowed URL scheme${form}`))
  if (url.host === '') errors.push(invalid(path, url.host, `host must be specified${form}`))
  if (url.user !== undefined)
    errors.push(invalid(path, url.user, 'user information is not permitted in the URL'))
  if (url.fragment !== '')
    errors.push(invalid(path, url.fragment, 'fragments are not permitted in the URL'))
  if (url.query !== '')
    errors.push(invalid(path, url.query, 'query parameters are not permitted in the URL'))
  return errors
}

const servicePathErrors = (path: string, at: string): FieldError[] => {
  if (path === '/' || path === '') return []
  if (path === '//') return [invalid(at, path, 'segment[0] may not be empty')]
  const errors = path.startsWith('/') ? [] : [invalid(at, path, "must start with a '/'")]
  const steps = path.slice(1).replace(/\/$/, '').split('/')
  return [
    ...errors,
    // Each error shows the whole path.
    ...each(at, steps, (step, _at, i) =>
      step === ''
        ? [invalid(at, path, `segment[${i}] may not be empty`)]
        : isDns1123Subdomain(step).map((m) => invalid(at, path, `segment[${i}]: ${m}`)),
    ),
  ]
}

const serviceErrors = (service: WebhookService, at: string): FieldError[] => [
  // Upstream hands name and namespace over in the wrong order: each is reported as the other.
  ...(service.namespace ? [] : [required(child(at, 'name'))]),
  ...(service.name ? [] : [required(child(at, 'namespace'))]),
  ...(isPort(service.port)
    ? []
    : [invalid(child(at, 'port'), service.port, `port is not valid: ${portMessage}`)]),
  ...(service.path === undefined ? [] : servicePathErrors(service.path, child(at, 'path'))),
]

/** `path` is where the configuration is. */
export const webhookClientErrors = (
  { url, service }: WebhookClientConfig,
  path: string,
): FieldError[] => {
  if ((url === undefined) === (service === undefined))
    return [required(path, 'exactly one of url or service is required')]
  return url === undefined
    ? serviceErrors(service!, child(path, 'service'))
    : urlErrors(url, child(path, 'url'))
}

/** The versions of a review that a webhook understands, when there are any. */
export const reviewVersionErrors = (versions: readonly string[], path: string): FieldError[] => {
  const isRepeated = makeRepeatCheck()
  const errors = each(path, versions, (version, at) =>
    isRepeated(version)
      ? [invalid(at, version, 'duplicate version')]
      : validDns1035Label(at, version),
  )
  return versions.some((version) => reviewVersions.includes(version))
    ? errors
    : [
        ...errors,
        invalid(path, versions, `must include at least one of ${reviewVersions.join(', ')}`),
      ]
}
