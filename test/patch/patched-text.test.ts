/** Patched documents as errors print them. */
import t from 'tap'
import type { JsonValue } from '#api/object.js'
import { documentOf, patchedText, touchedByJsonPatch } from '#registry/patch/patched-text.js'

const pod = {
  kind: 'Pod',
  apiVersion: 'v1',
  metadata: { name: 'p', labels: { b: '1', a: '2' } },
  spec: { restartPolicy: 'Always', nodeName: 'n' },
}

t.test('what a patch went through is in order, the rest as Go has it', async (t) => {
  const document = documentOf(pod, 'io.k8s.api.core.v1.Pod')
  const spec = { z: 1, y: { d: 1, c: 2 } }
  const cases: [why: string, after: object, sortsNew: boolean, text: string][] = [
    [
      'untouched parts keep the order of the type, maps the one of keys',
      { ...pod, extra: 1 },
      true,
      '{"apiVersion":"v1","extra":1,"kind":"Pod","metadata":{"name":"p","labels":{"a":"2","b":"1"}},"spec":{"restartPolicy":"Always","nodeName":"n"}}',
    ],
    [
      'a merge patch sorts what it brings',
      { kind: 'Pod', spec },
      true,
      '{"kind":"Pod","spec":{"y":{"c":2,"d":1},"z":1}}',
    ],
    [
      'a JSON patch keeps what it brings as written',
      { kind: 'Pod', spec: { y: spec.y, z: 1 } },
      false,
      '{"kind":"Pod","spec":{"y":{"d":1,"c":2},"z":1}}',
    ],
  ]
  for (const [why, after, sortsNew, text] of cases)
    t.equal(patchedText(after as typeof pod, document, { sortsNew, touched: {} }), text, why)
  t.equal(
    patchedText({ ...pod, extra: 1 }, documentOf(pod, undefined), { sortsNew: true, touched: {} }),
    '{"apiVersion":"v1","extra":1,"kind":"Pod","metadata":{"labels":{"a":"2","b":"1"},"name":"p"},"spec":{"nodeName":"n","restartPolicy":"Always"}}',
    'a custom resource has its keys in order everywhere',
  )
  t.equal(patchedText([1], document, { sortsNew: true, touched: {} }), '[1]')
})

t.test('objects on the way of a patch are in order even where nothing changed', async (t) => {
  const { metadata } = pod
  const document = documentOf(pod, 'io.k8s.api.core.v1.Pod')
  const text = (touched: JsonValue, sortsNew: boolean) =>
    patchedText({ metadata }, document, { sortsNew, touched })
  t.equal(text({ spec: 0 }, true), '{"metadata":{"name":"p","labels":{"a":"2","b":"1"}}}')
  const inOrder = '{"metadata":{"labels":{"a":"2","b":"1"},"name":"p"}}'
  t.equal(text({ metadata: {} }, true), inOrder, 'a merge patch')
  const test = [{ op: 'test', path: '/metadata/name', value: 'p' }]
  t.equal(text(touchedByJsonPatch(test), false), inOrder, 'a JSON patch')
  const spec = { containers: [{ name: 'c', image: 'i' }] }
  const first = [{ op: 'test', path: '/spec/containers/0/name', value: 'c' }]
  const touched = touchedByJsonPatch(first)
  t.equal(
    patchedText({ spec }, { ...pod, spec }, { sortsNew: false, touched }),
    '{"spec":{"containers":[{"image":"i","name":"c"}]}}',
    'in lists too',
  )
  t.same(touchedByJsonPatch([{ op: 'copy', from: '/a/b~1c/d', path: '/e' }]), {
    a: { 'b/c': {} },
  })
})
