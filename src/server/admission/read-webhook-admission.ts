/**
 * The configuration of the plugins that ask webhooks and policies: which credentials the server shows to which webhook
 * (apiserver, pkg/util/webhook/authentication.go).
 */
import type { CredentialsOfHost } from '#admission/webhooks/call-webhook.js'
import { aggregateMessage } from '#api/errors.js'
import { forbidden, invalid } from '#api/field-error.js'
import type { CredentialsOfUser } from '#client/kubeconfig.js'
import { decodeConfiguration } from '#registry/decode-configuration.js'
import { readKubeconfigUsers } from './plugin-configuration.js'

interface Configuration {
  readonly kubeConfigFile: string
  readonly staticManifestsDir?: string
}

const types = {
  'apiserver.config.k8s.io/v1 WebhookAdmissionConfiguration': 'config.v1.WebhookAdmission',
}

/** The feature is alpha and off by default. */
const refuseManifests = ({ staticManifestsDir }: Partial<Configuration>): void => {
  if (!staticManifestsDir) return
  const why =
    'staticManifestsDir requires the ManifestBasedAdmissionControlConfig feature gate to be enabled'
  throw new Error(aggregateMessage([forbidden('staticManifestsDir', why)]))
}

/** The names that cover `a.b.svc:443`, itself first: `*.b.svc:443`, `*.svc:443`. */
const namesOf = (host: string): string[] => {
  const [, ...steps] = host.split('.')
  return [host, ...steps.map((_, i) => `*.${steps.slice(i).join('.')}`)]
}

/** `host` includes its port. An entry for port 443 may leave the port out. */
const credentialsOfHost =
  (ofUser: CredentialsOfUser): CredentialsOfHost =>
  (host) => {
    const portless = host.endsWith(':443') ? namesOf(host.slice(0, -':443'.length)) : []
    for (const name of [...namesOf(host), ...portless, '*']) {
      const found = ofUser(name)
      if (found !== undefined) return found
    }
    return ofUser()
  }

/** Undefined if no webhook is shown credentials. Throws an Error. */
export const readWebhookAdmission = async (
  text: string,
): Promise<CredentialsOfHost | undefined> => {
  const { value: configuration } = decodeConfiguration<Configuration>(text, types)
  const { kubeConfigFile: file } = configuration
  if (file !== '' && !file.startsWith('/'))
    throw new Error(
      aggregateMessage([invalid('kubeConfigFile', file, 'must be an absolute file path')]),
    )
  refuseManifests(configuration)
  return file === '' ? undefined : credentialsOfHost(await readKubeconfigUsers(file))
}

const policyKinds = ['Validating', 'Mutating'].map((name) => `${name}AdmissionPolicyConfiguration`)
const policyTypes = Object.fromEntries(
  policyKinds.map((kind) => [`apiserver.config.k8s.io/v1 ${kind}`, `config.v1.${kind}`]),
)

/** Policies have nothing to configure. Throws an Error. */
export const checkPolicyConfiguration = (text: string, kind: string): void => {
  const { type, value } = decodeConfiguration(text, policyTypes)
  const given = type.slice('config.v1.'.length)
  if (given !== kind) throw new Error(`unexpected type: *policyconfig.${given}`)
  refuseManifests(value)
}
