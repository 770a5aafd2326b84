/** Writes of custom resources, made at random, with what kube-apiserver v1.36 made of each object and of its field owners. */
import https from 'node:https'
import t from 'tap'
import type { KubeObject } from '#api/object.js'
import type { JsonObject } from '#json/value.js'
import { readRecorded } from '../recorded.js'
import { definitionOf, versionOf } from '../server/definition-body.js'
import { call, isServed, startServer } from '../server/start-server.js'

interface Write {
  way: 'apply' | 'force' | 'merge' | 'put' | 'create'
  /** The field manager. */
  by: string
  /** v1 unless it says otherwise. */
  version?: string
  sub?: 'status'
  spec?: JsonObject
  status?: JsonObject
  /** What is other than before it: null is gone. Fields are named by their owner. */
  changed?: JsonObject
  /** The others were refused; without a message where upstream has it in any order. */
  code?: number
  message?: string
}

interface Kind {
  /** Of spec, by version. */
  schemas: Record<string, JsonObject>
  hasStatus: boolean
  objects: Write[][]
}

const { kinds } = readRecorded<{ kinds: Kind[] }>('field-manager/writes')
const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const group = 'rec.io'

const recordedDefinition = (kind: string, { schemas, hasStatus }: Kind) => {
  const plural = `${kind.toLowerCase()}s`
  const status = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
  const more = hasStatus ? { subresources: { status: {} } } : {}
  const versions = Object.entries(schemas).map(([name, spec]) =>
    versionOf(
      name,
      { type: 'object', properties: { spec, status } },
      { storage: name === 'v1', ...more },
    ),
  )
  const names = { plural, singular: kind.toLowerCase(), kind, listKind: `${kind}List` }
  return definitionOf({ group, scope: 'Cluster', names, versions })
}

const contentTypes = {
  apply: 'application/apply-patch+yaml',
  force: 'application/apply-patch+yaml',
  merge: 'application/merge-patch+json',
  put: 'application/json',
  create: 'application/json',
}

/** What the recording tells of an object. */
const shown = ({ spec, status, metadata }: KubeObject): JsonObject => {
  const owners = (metadata.managedFields ?? []).map((entry): [string, JsonObject] => {
    const version = entry.apiVersion!.split('/')[1]
    const words = [entry.manager, entry.operation, version, entry.subresource ?? '']
    return [words.join(' ').trim(), entry.fieldsV1 as JsonObject]
  })
  return {
    ...(spec === undefined ? {} : { spec }),
    ...(status === undefined ? {} : { status }),
    ...Object.fromEntries(owners),
  }
}

t.test('each write leaves the object and its owners that it leaves upstream', async (t) => {
  const server = await startServer(t)
  const agent = new https.Agent({ keepAlive: true })
  t.teardown(() => agent.destroy())
  for (const [k, kind] of kinds.entries()) {
    const name = `K${k}`
    const root = (version: string) => `/apis/${group}/${version}/k${k}s`
    const body = recordedDefinition(name, kind)
    await call(server, { method: 'POST', path: definitions, body })
    for (const version of Object.keys(kind.schemas)) await isServed(server, root(version))
    for (const [o, writes] of kind.objects.entries()) {
      let before: JsonObject = {}
      for (const [w, { changed, code, message, ...write }] of writes.entries()) {
        const { way, by, version = 'v1', sub, spec, status } = write
        const parts = {
          ...(spec === undefined ? {} : { spec }),
          ...(status === undefined ? {} : { status }),
        }
        const own = `${root(version)}/o${o}`
        const { resourceVersion } =
          way === 'put' ? (await call(server, { path: own, agent })).body.metadata : {}
        const metadata = { name: `o${o}`, resourceVersion }
        const whole = { apiVersion: `${group}/${version}`, kind: name, metadata, ...parts }
        const force = way === 'apply' || way === 'force' ? `&force=${way === 'force'}` : ''
        const query = `?fieldManager=${by}${force}`
        const path = way === 'create' ? root(version) : sub === undefined ? own : `${own}/${sub}`
        const answer = await call(server, {
          method: way === 'put' ? 'PUT' : way === 'create' ? 'POST' : 'PATCH',
          path: `${path}${query}`,
          body: way === 'merge' ? parts : whole,
          headers: { 'content-type': contentTypes[way] },
          agent,
        })
        const what = `kind ${k}, object ${o}, write ${w}: ${JSON.stringify(write)}`
        if (changed === undefined) {
          t.equal(answer.status, code, what)
          if (message !== undefined) t.equal(answer.body.message, message, what)
          continue
        }
        const after = Object.entries({ ...before, ...changed }).filter(([, part]) => part !== null)
        before = Object.fromEntries(after)
        t.same(answer.status < 300 ? shown(answer.body) : answer.body, before, what)
      }
    }
  }
})
