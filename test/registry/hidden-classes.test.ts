/** V8 finds the fields of objects fast when those that look alike share a hidden class: what is made of bodies does. */
import { setFlagsFromString } from 'node:v8'
import { runInThisContext } from 'node:vm'
import t from 'tap'
import { makeAdmission } from '#admission/chain.js'
import type { KubeObject } from '#api/object.js'
import { customStrategy } from '#crd/custom-strategy.js'
import { applyMergePatch } from '#registry/patch/merge.js'
import { applyStrategicMergePatch } from '#registry/patch/strategic.js'
import { startApiInMemory } from '../kinds/api-in-memory.js'

setFlagsFromString('--allow-natives-syntax')
/** What has lost fields is a dictionary to V8, and those all share one class. */
const shareClass: (a: object, b: object) => boolean = runInThisContext(
  '(a, b) => %HaveSameMap(a, b) && %HasFastProperties(a)',
)

/** Paths of the parts that have a class of their own. */
const differing = (a: object, b: object, path = ''): string[] => {
  const below = Object.keys(a).flatMap((key) => {
    const [mine, others] = [a, b].map((side) => (side as Record<string, unknown>)[key])
    const areObjects = typeof mine === 'object' && mine !== null
    return areObjects ? differing(mine, others as object, `${path}.${key}`) : []
  })
  return shareClass(a, b) ? below : [path, ...below]
}

/** So many that V8 has learned what it sees. */
const names = Array.from({ length: 100 }, (_, n) => `pod-${n}`)
const pod = (name: string): KubeObject => ({
  kind: 'Pod',
  apiVersion: 'v1',
  metadata: { name, labels: { app: 'web' } },
  spec: { nodeName: 'n', containers: [{ name: 'c', image: 'i' }] },
})

t.test('stored Pods, whatever admission added and a delete marked', async (t) => {
  const api = await startApiInMemory(() => makeAdmission({ disabled: ['ServiceAccount'] }))
  t.teardown(() => api.close())
  const call = { namespace: 'default' }
  await api.create('v1/namespaces', { metadata: { name: 'default' } })
  const stored: Record<'created' | 'ending', KubeObject[]> = { created: [], ending: [] }
  for (const name of names) {
    stored.created.push((await api.create('v1/pods', pod(name), call)).body)
    stored.ending.push((await api.delete('v1/pods', name, call)).body)
  }
  for (const objects of Object.values(stored)) {
    const [before, last] = objects.slice(-2)
    t.match(before, { spec: { tolerations: [{}, {}] } }, 'they are Pods')
    t.same(differing(before!, last!), [])
  }
})

t.test('what patches add to', async (t) => {
  const patch = { metadata: { annotations: { a: '1' } }, status: { phase: 'Running' } }
  for (const apply of [
    (object: KubeObject) => applyMergePatch(object, patch),
    (object: KubeObject) => applyStrategicMergePatch(object, patch, 'io.k8s.api.core.v1.Pod'),
  ]) {
    const [before, last] = names.map((name) => apply(pod(name))).slice(-2)
    t.match(before, patch, 'it is there')
    t.same(differing(before!, last!), [])
  }
})

t.test('custom resources with their keys in order', async (t) => {
  const { canonicalize } = customStrategy({ name: 'v1', served: true, storage: true }, 'A')
  const [before, last] = names
    .map((name) => {
      const metadata = { name }
      const object = { apiVersion: 'a.b/v1', kind: 'A', spec: { b: 1, a: 2 }, metadata }
      canonicalize!(object)
      return object
    })
    .slice(-2)
  t.equal(JSON.stringify(before!.spec), '{"a":2,"b":1}', 'they are in order')
  t.same(differing(before!, last!), [])
})
