/** Names that every JavaScript object has a value for: as keys of what users give they are names like any other. */
import t from 'tap'
import { fieldValue } from '#kubelet/downward.js'
import { DraDrivers } from '#kubelet/dra/dra-drivers.js'
import { makeEnvironment } from '#kubelet/environment/environment.js'
import type { ObjectReader } from '#kubelet/object-reader.js'
import type { EnvVar } from '#kubelet/pod.js'
import type { Volumes } from '#kubelet/volumes/volumes.js'
import { storedMetadata } from '../stored-metadata.js'

const facts = {
  pod: {
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: storedMetadata({ name: 'p', namespace: 'default', uid: 'u', labels: { a: 'b' } }),
    spec: { containers: [{ name: 'c' }] },
  },
  podIps: [],
  nodeAddress: '',
  allocatable: {},
}
const reader = {
  configMap: async () => ({ data: { a: 'b' } }),
  serviceVariables: () => [],
} as unknown as ObjectReader
const environment = (valueFrom: EnvVar['valueFrom']) =>
  makeEnvironment(
    facts,
    { name: 'c', env: [{ name: 'V', valueFrom }] },
    { reader, volumes: {} as Volumes },
  )

t.test('a key that a ConfigMap does not have', async (t) => {
  const key = 'constructor'
  await t.rejects(environment({ configMapKeyRef: { name: 'm', key } }), {
    message: "couldn't find key constructor in ConfigMap default/m",
  })
  t.same([...(await environment({ configMapKeyRef: { name: 'm', key, optional: true } }))], [])
})

t.test('a label that a Pod does not have, and one that it has, as Go quotes it', async (t) => {
  t.equal(fieldValue(facts, "metadata.labels['toString']"), '')
  const metadata = { ...facts.pod.metadata, annotations: { b: '\u007f"\u2028é', a: '\t' } }
  const noted = { ...facts, pod: { ...facts.pod, metadata } }
  t.equal(fieldValue(noted, 'metadata.annotations'), 'a="\\t"\nb="\\x7f\\"\\u2028é"')
})

t.test('a version that no driver has', async (t) => {
  const drivers = new DraDrivers({ keep() {}, leave() {} })
  t.throws(() => drivers.validate({ name: 'd', endpoint: '/d', versions: ['constructor'] }), {
    message:
      'invalid supported gRPC versions of DRA driver plugin d at endpoint /d: none of services supported by the plugin (["constructor"]) are supported by the kubelet (["v1.DRAPlugin" "v1beta1.DRAPlugin"])',
  })
})
