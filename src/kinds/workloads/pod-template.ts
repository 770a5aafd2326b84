/** What every kind with a pod template does alike: defaults inside the template. */
import type { Fields } from '#api/object.js'
import { defaultPodSpec } from '../pods/pod-spec-defaults.js'

export const defaultTemplate = (template: Fields | undefined | null): void => {
  if (template?.spec) defaultPodSpec(template.spec)
}
