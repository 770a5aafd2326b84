/** The manifest of a static Pod, read as the API server reads a Pod. Loaded where there are manifests: it brings the schemas. */
import { systemClock } from '#api/clock.js'
import { isJsonObject } from '#json/object.js'
import pod from '#kinds/core/pod.js'
import type { Pod } from '#kubelet/pod.js'
import type { ReadManifest } from '#kubelet/static-pods/manifests.js'
import { beforeCreate } from '#registry/before-create.js'
import { decodeObject } from '#registry/decode.js'
import { internalContext } from '#registry/internal-context.js'
import { makeResourceTable } from '#registry/resource-table.js'
import { parseYaml } from '#registry/yaml/yaml.js'
import { apiReferenceOf } from '#validation/pod/api-reference.js'

export const podManifestReader = (): ReadManifest => {
  const definition = makeResourceTable([pod]).byKind({ group: '', version: 'v1', kind: 'Pod' })!
  const caller = { signal: new AbortController().signal }
  return (text, place) => {
    const { value } = parseYaml(text)
    if (!isJsonObject(value) || value.kind !== 'Pod' || value.apiVersion !== 'v1')
      throw new Error('it is no v1 Pod')
    const { object } = decodeObject(definition, value)
    if (!object.metadata.name) throw new Error('invalid pod: name is needed for the pod')
    place(object as Pod)
    const { namespace } = object.metadata
    const base = { now: systemClock.now(), caller, stores: () => undefined }
    beforeCreate(object, { definition, ctx: internalContext(base, namespace) })
    const reference = apiReferenceOf(object.spec)
    if (reference !== undefined)
      throw new Error(reference.problem ?? `static pods may not reference ${reference.told}`)
    // Nobody counts the versions of a file.
    delete object.metadata.generation
    return object as Pod
  }
}
