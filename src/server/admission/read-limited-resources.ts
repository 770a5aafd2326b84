/** ResourceQuotaConfiguration (apiserver, pkg/admission/plugin/resourcequota/apis). */
import type { LimitedResource } from '#admission/quota/limited-resources.js'
import { aggregateMessage } from '#api/errors.js'
import { child, index, required } from '#api/field-error.js'
import { decodeConfiguration } from '#registry/decode-configuration.js'

const type = 'config.v1.ResourceQuotaConfiguration'
const types = {
  'apiserver.config.k8s.io/v1 ResourceQuotaConfiguration': type,
  'resourcequota.admission.k8s.io/v1beta1 Configuration': type,
  'resourcequota.admission.k8s.io/v1alpha1 Configuration': type,
}

/** Throws an Error. */
export const readLimitedResources = (text: string): readonly LimitedResource[] => {
  const { value } = decodeConfiguration<{ limitedResources: LimitedResource[] | null }>(text, types)
  const limited = value.limitedResources ?? []
  const errors = limited.flatMap(({ resource }, i) =>
    resource === '' ? [required(child(index('limitedResources', i), 'resource'))] : [],
  )
  if (errors.length > 0) throw new Error(aggregateMessage(errors))
  return limited
}
