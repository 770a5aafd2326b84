/** Tells which Services a change of a Pod or Service concerns, only when endpoints could differ. */
import { matchesLabels } from '#api/label-selector.js'
import type { Informer } from '#client/informer.js'
import { keyOf } from '#client/object-store.js'
import { isPodReady, isPodTerminal, type Pod } from '#client/pod.js'
import { podIps, type Service } from './endpoint.js'

/** The Pods that the Service takes in; undefined when its endpoints are no matter of ours. */
export const podsOfService = (
  { spec, metadata }: Service,
  pods: Informer<Pod>,
): readonly Pod[] | undefined => {
  const { selector, type } = spec
  if (!selector || type === 'ExternalName') return undefined
  return pods.store
    .byIndex('namespace', metadata.namespace)
    .filter((pod) => matchesLabels(selector, pod.metadata.labels))
}

/** All of a Pod that an endpoint shows. */
const signature = (pod: Pod): string =>
  JSON.stringify([
    podIps(pod),
    isPodReady(pod),
    isPodTerminal(pod),
    pod.metadata.deletionTimestamp !== undefined,
    pod.spec.nodeName,
    pod.spec.hostname,
    pod.spec.subdomain,
  ])

export const servicesOfPods = (
  { services, pods }: { services: Informer<Service>; pods: Informer<Pod> },
  changed: (serviceKey: string) => void,
): void => {
  const tell = (pod: Pod, except?: Record<string, string>): void => {
    for (const service of services.store.byIndex('namespace', pod.metadata.namespace)) {
      const { selector } = service.spec
      if (!selector || !matchesLabels(selector, pod.metadata.labels)) continue
      if (except !== undefined && matchesLabels(selector, except)) continue
      changed(keyOf(service))
    }
  }
  services.handle({
    onAdd: (service) => changed(keyOf(service)),
    onUpdate: (service) => changed(keyOf(service)),
    onDelete: (service) => changed(keyOf(service)),
  })
  pods.handle({
    onAdd: (pod) => tell(pod),
    onDelete: (pod) => tell(pod),
    onUpdate(next, previous) {
      if (signature(next) !== signature(previous)) {
        tell(next)
        tell(previous, next.metadata.labels ?? {})
      } else if (next.metadata.labels !== previous.metadata.labels) {
        // Each side only where the other did not match: a Pod that goes on matching has no label that its slice would
        // show.
        tell(next, previous.metadata.labels ?? {})
        tell(previous, next.metadata.labels ?? {})
      }
    },
  })
}
