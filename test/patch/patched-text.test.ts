/** Patched documents as errors print them. */
import t from 'tap'
import type { JsonValue } from '#json/value.js'
import { documentOf, textOfJsonPatch, textOfMergePatch } from '#registry/patch/patched-text.js'

const pod = {
  kind: 'Pod',
  apiVersion: 'v1',
  metadata: { name: 'p', labels: { b: '1', a: '2' } },
  spec: { restartPolicy: 'Always', nodeName: 'n' },
}
const document = documentOf(pod, 'io.k8s.api.core.v1.Pod')

t.test('a merge patch has its own keys in order, and the rest as Go has it', async (t) => {
  const asTyped =
    '"metadata":{"name":"p","labels":{"a":"2","b":"1"}},"spec":{"restartPolicy":"Always","nodeName":"n"}'
  t.equal(
    textOfMergePatch(document, { extra: 1 }),
    `{"apiVersion":"v1","extra":1,"kind":"Pod",${asTyped}}`,
    'untouched parts keep the order of the type, maps the one of keys',
  )
  const spec = { z: 1, y: { d: 1, c: 2 } }
  t.equal(
    textOfMergePatch(document, { spec, extra: [{ b: 1, a: 2, c: null }], metadata: null }),
    '{"apiVersion":"v1","extra":[{"a":2,"b":1}],"kind":"Pod","spec":{"nodeName":"n","restartPolicy":"Always","y":{"c":2,"d":1},"z":1}}',
    'what it brings is in order',
  )
  t.equal(
    textOfMergePatch(document, { spec: [{ b: 1, a: null }], metadata: null }),
    '{"apiVersion":"v1","kind":"Pod","spec":[{"b":1,"a":null}]}',
    'but what takes the place of an object is as it was written',
  )
  t.equal(
    textOfMergePatch(documentOf(pod, undefined), { extra: 1 }),
    '{"apiVersion":"v1","extra":1,"kind":"Pod","metadata":{"labels":{"a":"2","b":"1"},"name":"p"},"spec":{"nodeName":"n","restartPolicy":"Always"}}',
    'a custom resource has its keys in order everywhere',
  )
  t.equal(textOfMergePatch(document, [1]), '[1]')
  t.equal(
    textOfMergePatch(document, { spec: null, metadata: {} }),
    '{"apiVersion":"v1","kind":"Pod","metadata":{"labels":{"a":"2","b":"1"},"name":"p"}}',
    'also where it changes nothing',
  )
})

t.test('what a JSON patch went through has its keys in order, wherever it is then', async (t) => {
  const own = { kind: 'K', apiVersion: 'v1', uid: 'u' }
  const owners = [
    { ...own, name: 'a' },
    { ...own, name: 'b' },
  ]
  const object = { kind: 'Pod', apiVersion: 'v1', metadata: { name: 'p', ownerReferences: owners } }
  const text = (...patch: JsonValue[]): string =>
    textOfJsonPatch(documentOf(object, 'io.k8s.api.core.v1.Pod'), patch)
  const started = '{"apiVersion":"v1","kind":"Pod","metadata":'
  const asTyped = (name: string) => `{"apiVersion":"v1","kind":"K","name":"${name}","uid":"u"}`
  const list = `[${asTyped('a')},${asTyped('b')}]`
  t.equal(
    text({ op: 'add', path: '/z', value: { d: 1, c: 2 } }),
    `${started}{"name":"p","ownerReferences":${list}},"z":{"d":1,"c":2}}`,
    'what it brings is as it was written',
  )
  t.equal(
    text({ op: 'add', path: '/z', value: { d: 1, c: 2 } }, { op: 'add', path: '/z/b', value: 3 }),
    `${started}{"name":"p","ownerReferences":${list}},"z":{"b":3,"c":2,"d":1}}`,
  )
  const add = { op: 'add', path: '/metadata/ownerReferences/1/controller', value: true }
  const shift = { op: 'add', path: '/metadata/ownerReferences/0', value: 1 }
  t.equal(
    text(add, shift),
    `${started}{"name":"p","ownerReferences":[1,${asTyped('a')},{"apiVersion":"v1","controller":true,"kind":"K","name":"b","uid":"u"}]}}`,
  )
  t.equal(
    textOfJsonPatch(documentOf(pod, 'io.k8s.api.core.v1.Pod'), [
      { op: 'test', path: '/spec', value: pod.spec },
      { op: 'remove', path: '/metadata' },
    ]),
    '{"apiVersion":"v1","kind":"Pod","spec":{"nodeName":"n","restartPolicy":"Always"}}',
    'what it compared, too',
  )
})
