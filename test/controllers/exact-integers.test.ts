/** Integers that a double cannot hold pass through our processes as they were written. */
import t from 'tap'
import type { Client } from '#client/client.js'
import { readJson, writeJson } from '#client/exact-json.js'
import { type ResourceRef, resourcePath, resources } from '#client/resources.js'
import { eventually } from '../eventually.js'
import { startControllers } from './in-process.js'

const namespace = 'default'
const int64Max = '9223372036854775807'

t.test('what is passed on is written as it was read, what was changed is not', (t) => {
  const read = readJson(`{"a":${int64Max},"b":[{"c":-${int64Max},"d":1}]}`) as {
    a: number
    b: { c: number; d: number }[]
  }
  t.equal(read.a, Number(int64Max))
  t.equal(writeJson({ ...read, e: 1 }), `{"a":${int64Max},"b":[{"c":-${int64Max},"d":1}],"e":1}`)
  read.a = 5
  t.equal(writeJson(read), `{"a":5,"b":[{"c":-${int64Max},"d":1}]}`)
  t.end()
})

t.test('of an object with very many of them each is noted once', (t) => {
  const text = `{${Array.from({ length: 150_000 }, (_, i) => `"f${i}":${int64Max}`).join()}}`
  t.ok(writeJson(readJson(text)) === text)
  t.end()
})

t.test('templates keep them', async (t) => {
  const client = await startControllers(
    t,
    ['deployment-controller', 'replicaset-controller', 'statefulset-controller'],
    undefined,
    { disableAdmissionPlugins: ['ServiceAccount'] },
  )
  const labels = { app: 'a' }
  const tolerations = [
    { key: 'k', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 'LONG' },
  ]
  const spec = { containers: [{ name: 'c', image: 'i' }], tolerations }
  const owner = (name: string) => ({
    metadata: { name, namespace },
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec },
      serviceName: name,
    },
  })
  const create = (ref: ResourceRef, name: string) =>
    client.create(
      ref,
      readJson(JSON.stringify(owner(name)).replaceAll('"LONG"', int64Max)) as ReturnType<
        typeof owner
      >,
    )
  await create(resources.deployments, 'd')
  await create(resources.statefulSets, 's')
  const untilSaid = (ref: ResourceRef, times: number) =>
    eventually(`${ref.resource} say the longest time`, async () => {
      const text = await textOf(client, ref)
      return text.split(`"tolerationSeconds":${int64Max}`).length > times
    })
  await untilSaid(resources.replicaSets, 1)
  await untilSaid(resources.controllerRevisions, 1)
  await untilSaid(resources.pods, 2)
  t.pass('in a ReplicaSet, in a revision and in the Pods of both')
})

const textOf = (client: Client, ref: ResourceRef): Promise<string> =>
  client.text({ method: 'GET', path: resourcePath(ref, { namespace }) })
