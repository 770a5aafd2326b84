/** Pods may keep others off their node, but off nothing larger (kubernetes, plugin/pkg/admission/antiaffinity). */
import { forbidden } from '#api/errors.js'
import { type AdmissionPlugin, isAbout, podWrites } from './plugin.js'

const hostname = 'kubernetes.io/hostname'

export const limitPodHardAntiAffinityTopology: AdmissionPlugin = {
  name: 'LimitPodHardAntiAffinityTopology',
  resources: ['pods'],
  validate: (attributes) => {
    if (!isAbout(attributes, podWrites)) return
    const { metadata, spec } = attributes.object
    const terms: { topologyKey: string }[] =
      spec.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []
    for (const { topologyKey } of terms)
      if (topologyKey !== hostname)
        throw forbidden(
          attributes.resource,
          metadata.name ?? '',
          `affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey ${topologyKey} but only key ${hostname} is allowed`,
        )
  },
}
