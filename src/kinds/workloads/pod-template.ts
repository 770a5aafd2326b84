/** What every kind with a pod template does alike: defaults inside the template. */
import type { Fields, KubeObject } from '#api/object.js'
import { defaultPodSpec, dropDisabledOfPodSpec } from '../pods/pod-spec-defaults.js'

export const defaultTemplate = (template: Fields | undefined | null): void => {
  if (template?.spec) defaultPodSpec(template.spec)
}

/** Fields of the template in spec.template that belong to features that are off. */
export const dropDisabledOfTemplate = ({ spec }: KubeObject): void =>
  dropDisabledOfPodSpec(spec?.template?.spec)

/** The spec of the samples of kinds with a selector. */
export const sampleSpec = {
  selector: { matchLabels: { app: 'a' } },
  template: {
    metadata: { labels: { app: 'a' } },
    spec: { containers: [{ name: 'main', image: 'example.com/main:1' }] },
  },
}
