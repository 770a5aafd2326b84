/** Patches of every type, made at random, with what kube-apiserver v1.36 answered to each. */
import t from 'tap'
import type { KubeObject } from '#api/object.js'
import type { JsonObject, JsonValue } from '#json/value.js'
import { readRecorded } from '../recorded.js'
import { startApiServer } from '../routes/api-server.js'

interface Recorded {
  type: 'strategic' | 'json' | 'merge'
  /** Of the document. */
  name: string
  patch: JsonValue
  /** The parts that the patch has changed. */
  changed?: JsonObject
  /** The others were refused. */
  code?: number
  message?: string
}

const { documents, requests } = readRecorded<{
  documents: Record<string, KubeObject>
  requests: Recorded[]
}>('patch/patches')

const contentTypes = {
  strategic: 'application/strategic-merge-patch+json',
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
}

/** The parts of a PodTemplate that patches are about, without what the server fills in. */
const partsOf = ({ metadata, template }: KubeObject): Record<string, unknown> => {
  const { labels, annotations, finalizers } = metadata
  const { containers, ...spec } = template.spec
  return {
    ...{ labels, annotations, finalizers },
    containers: containers.map((container: JsonObject) => {
      const { name, image, command, env } = container
      const ports = container.ports as { containerPort: number; name?: string }[] | undefined
      const shown = ports?.map((port) => [port.containerPort, port.name ?? null])
      return { name, image, command, env, ports: shown }
    }),
    ...{ volumes: spec.volumes, nodeSelector: spec.nodeSelector, tolerations: spec.tolerations },
    ...{ imagePullSecrets: spec.imagePullSecrets, hostAliases: spec.hostAliases },
    dnsConfig: spec.dnsConfig,
  }
}

t.test('a patch makes of an object what it makes of it upstream', async (t) => {
  const { api } = await startApiServer(t)
  const collection = '/api/v1/namespaces/x/podtemplates'
  const before: Record<string, Record<string, unknown>> = {}
  for (const [name, document] of Object.entries(documents)) {
    const metadata = { ...document.metadata, name }
    before[name] = partsOf((await api.post(collection, { ...document, metadata })).body)
  }
  for (const { type, name, patch, changed, ...refused } of requests) {
    const options = { raw: JSON.stringify(patch), type: contentTypes[type] }
    const { code, body } = await api.send('PATCH', `${collection}/${name}?dryRun=All`, options)
    const found = code === 200 ? partsOf(body) : { code, message: body.message }
    const wanted = changed === undefined ? refused : { ...before[name], ...changed }
    // A round trip drops what is undefined.
    const shown = (value: object) =>
      JSON.stringify(value, (_, part: unknown) => (part === null ? undefined : part))
    t.equal(shown(found), shown(wanted), `${type} ${JSON.stringify(patch)}`)
  }
})
