/** Quantities of one value in two forms are no change for whoever compares specs; stored is the form that was given. */

import t from 'tap'
import type { KubeObject } from '#api/object.js'
import { startApiInMemory } from './api-in-memory.js'

const inDefault = { namespace: 'default' }
const pod = { containers: [{ name: 'c', image: 'i', resources: { requests: { memory: '1Gi' } } }] }
const labels = { a: 'b' }
const workload = {
  selector: { matchLabels: labels },
  template: { metadata: { labels }, spec: pod },
}
const claim = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } }

const api = await startApiInMemory()
t.teardown(api.close)

const rewritten = async (gvr: string, spec: object, bytes: string) => {
  await api.create(gvr, { metadata: { name: 'a' }, spec: structuredClone(spec) }, inDefault)
  const change = (object: KubeObject): void => {
    object.spec = JSON.parse(JSON.stringify(object.spec).replaceAll(/"1Gi"|"1073741824"/g, bytes))
  }
  return api.replace(gvr, 'a', change, inDefault)
}

t.test('a template in another form is the same generation', async (t) => {
  for (const resource of ['deployments', 'daemonsets', 'replicasets']) {
    const same = await rewritten(`apps/v1/${resource}`, workload, '"1073741824"')
    t.equal(same.body.metadata.generation, 1)
    t.equal(
      same.body.spec.template.spec.containers[0].resources.requests.memory,
      '1073741824',
      'and stored as it was given',
    )
    const annotation = 'deprecated.daemonset.template.generation'
    if (resource === 'daemonsets') t.equal(same.body.metadata.annotations[annotation], '1')
    const more = await rewritten(`apps/v1/${resource}`, workload, '"1073741825"')
    t.equal(more.body.metadata.generation, 2)
  }
})

t.test('what may not change may be written in another form', async (t) => {
  const set = { ...workload, serviceName: 's' }
  const volumeClaimTemplates = [{ metadata: { name: 'v' }, spec: claim }]
  const immutable: [string, object][] = [
    ['apps/v1/statefulsets', { ...set, volumeClaimTemplates }],
    ['v1/persistentvolumeclaims', claim],
    ['v1/pods', pod],
  ]
  for (const [gvr, spec] of immutable) {
    t.not((await rewritten(gvr, spec, '"1073741824"')).body.code, 422, gvr)
    t.equal((await rewritten(gvr, spec, '"1073741825"')).body.code, 422, gvr)
  }
})
