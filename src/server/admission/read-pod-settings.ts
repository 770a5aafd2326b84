/** What PodNodeSelector and PodTolerationRestriction are told for the whole cluster. */
import type { NodeSelectors } from '#admission/pod-node-selector.js'
import type { ClusterTolerations } from '#admission/pod-tolerations.js'
import type { JsonObject } from '#json/value.js'
import { decodeConfiguration, decodeUnversioned } from '#registry/decode-configuration.js'
import { validTolerations } from '#validation/toleration.js'

/** A configuration that cannot be read counts as empty; as upstream, the server starts all the same. */
export const readNodeSelectors = (text: string): NodeSelectors => {
  let selectors: JsonObject
  try {
    const config = decodeUnversioned(text, 'config.podnodeselector.pluginConfig')
    selectors = (config.PodNodeSelectorPluginConfig ?? {}) as JsonObject
  } catch {
    return {}
  }
  const texts = Object.entries(selectors).filter(([, selector]) => typeof selector !== 'object')
  return Object.fromEntries(texts.map(([namespace, selector]) => [namespace, String(selector)]))
}

const types = {
  'podtolerationrestriction.admission.k8s.io/v1alpha1 Configuration':
    'config.podtolerationrestriction.Configuration',
}

/** Throws an Error. */
export const readTolerations = (text: string): ClusterTolerations => {
  const { value: tolerations } = decodeConfiguration<ClusterTolerations>(text, types, {
    strict: false,
  })
  const errors = (['default', 'whitelist'] as const).flatMap((field) =>
    validTolerations(`podtolerationrestriction.${field}`, tolerations[field] ?? []),
  )
  if (errors.length > 0)
    throw new Error(`invalid config: [${errors.map((e) => `${e.field}: ${e.body}`).join(' ')}]`)
  return tolerations
}
