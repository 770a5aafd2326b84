/** Deletes of a CustomResourceDefinition that are meant for another one; the texts are answers of v1.36.3. */
import t from 'tap'
import { definitionOf, versionOf } from './definition-body.js'
import { call, startServer } from './start-server.js'

const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const definition = definitionOf({
  group: 'guarded.example.com',
  scope: 'Namespaced',
  names: { plural: 'things', kind: 'Thing' },
  versions: [versionOf('v1', { type: 'object' })],
})
const { name } = definition.metadata
const path = `${definitions}/${name}`
const cleanup = 'customresourcecleanup.apiextensions.k8s.io'

t.test('a definition is deleted only as the one that was meant', async (t) => {
  const server = await startServer(t)
  const made = await call(server, { method: 'POST', path: definitions, body: definition })
  t.equal(made.status, 201)
  const { uid } = JSON.parse(made.text).metadata
  const remove = async (body: object) => {
    const { status, text } = await call(server, { method: 'DELETE', path, body })
    return { status, answer: JSON.parse(text) }
  }
  const refused = await remove({ preconditions: { uid: 'other' }, dryRun: ['All'] })
  t.equal(refused.status, 409)
  t.equal(
    refused.answer.message,
    `Operation cannot be fulfilled on customresourcedefinitions.apiextensions.k8s.io "${name}": Precondition failed: UID in precondition: other, UID in object meta: ${uid}`,
  )
  t.equal((await remove({ preconditions: { resourceVersion: '1' } })).status, 409)
  const stored = JSON.parse((await call(server, { path })).text)
  t.notOk('deletionTimestamp' in stored.metadata, 'refused deletes mark nothing')
  const marked = await remove({ preconditions: { uid }, propagationPolicy: 'Orphan' })
  t.equal(marked.status, 200)
  t.same(marked.answer.metadata.finalizers, [cleanup], 'a first delete only marks')
})
