/** What the file of --admission-control-config-file tells each plugin that takes part, in the order of the plugins. */
import { type AdmissionOptions, type AdmissionSettings, takesPart } from '#admission/chain.js'
import type { StartedParts } from '../started-parts.js'
import { type ConfigurationOf, readAdmissionConfiguration } from './admission-configuration.js'
import { UnusableConfiguration } from './plugin-configuration.js'
import { readEventLimits } from './read-event-limits.js'
import { readImagePolicy } from './read-image-policy.js'
import { readLimitedResources } from './read-limited-resources.js'
import { readPodSecurity } from './read-pod-security.js'
import { readNodeSelectors, readTolerations } from './read-pod-settings.js'
import { checkPolicyConfiguration, readWebhookAdmission } from './read-webhook-admission.js'

type Plugins = Pick<AdmissionOptions, 'enabled' | 'disabled'>

type Read = (text: string | undefined, started: StartedParts) => unknown

/** A reader that is not called for a plugin without configuration. */
const ifSaid =
  (read: (text: string) => unknown): Read =>
  (text) =>
    text === undefined ? undefined : read(text)

const policies = (name: string): Read =>
  ifSaid((text) => checkPolicyConfiguration(text, `${name}Configuration`))

const readers: Readonly<Record<string, Read>> = {
  ImagePolicyWebhook: readImagePolicy,
  PodSecurity: ifSaid(readPodSecurity),
  PodNodeSelector: ifSaid(readNodeSelectors),
  PodTolerationRestriction: ifSaid(readTolerations),
  EventRateLimit: readEventLimits,
  MutatingAdmissionPolicy: policies('MutatingAdmissionPolicy'),
  MutatingAdmissionWebhook: ifSaid(readWebhookAdmission),
  ValidatingAdmissionPolicy: policies('ValidatingAdmissionPolicy'),
  ValidatingAdmissionWebhook: ifSaid(readWebhookAdmission),
  ResourceQuota: ifSaid(readLimitedResources),
}

const failed = (plugin: string, error: unknown): Error => {
  const what =
    error instanceof UnusableConfiguration
      ? 'failed to initialize admission plugin'
      : "couldn't init admission plugin"
  return new Error(`${what} "${plugin}": ${(error as Error).message}`)
}

const readAll = async (
  configurationOf: ConfigurationOf,
  options: Plugins,
  started: StartedParts,
): Promise<AdmissionSettings> => {
  const settings: Record<string, unknown> = {}
  for (const [plugin, read] of Object.entries(readers)) {
    if (!takesPart(plugin, options)) continue
    const text = configurationOf(plugin)
    try {
      settings[plugin] = await read(text, started)
    } catch (error) {
      throw failed(plugin, error)
    }
  }
  return settings
}

/** Rejects with an Error in upstream's words. */
export const readAdmissionSettings = async (
  file: string | undefined,
  options: Plugins,
  started: StartedParts,
): Promise<AdmissionSettings> => {
  try {
    const configurationOf = file === undefined ? () => undefined : readAdmissionConfiguration(file)
    return await readAll(configurationOf, options, started)
  } catch (error) {
    throw new Error(`failed to apply admission: ${(error as Error).message}`)
  }
}
