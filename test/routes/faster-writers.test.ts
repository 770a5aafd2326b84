/** Every sort of write, when somebody else writes the same object just before it: it is made anew of what is stored then. */
import t from 'tap'
import { systemClock } from '#api/clock.js'
import { openMemory } from '#storage/memory/memory-driver.js'
import { startApiServer } from './api-server.js'

const deployments = '/apis/apps/v1/namespaces/x/deployments'
const containers = [{ name: 'c', image: 'i' }]
const template = { metadata: { labels: { a: 'b' } }, spec: { containers } }
const spec = { replicas: 1, selector: { matchLabels: { a: 'b' } }, template }

const json = 'application/json'
const merge = 'application/merge-patch+json'
const strategic = 'application/strategic-merge-patch+json'
const jsonPatch = 'application/json-patch+json'
const apply = 'application/apply-patch+yaml'

t.test('a write that somebody else is faster than is made of what is stored then', async (t) => {
  const driver = openMemory({ clock: systemClock })
  const txn = driver.txn.bind(driver)
  let meanwhile: (() => Promise<unknown>)[] = []
  driver.txn = async (...args) => {
    const act = meanwhile.shift()
    await act?.()
    return txn(...args)
  }
  const { api } = await startApiServer(t, { driver })
  const name = 'd'
  const path = `${deployments}/${name}`
  const type = { apiVersion: 'apps/v1', kind: 'Deployment' }
  /** Writes while two others do, one before each try: the answer, and whether what the others wrote is still there. */
  const write = async (method: string, at: string, bodyType: string, body: object) => {
    await api.delete(path, { gracePeriodSeconds: 0 })
    const { body: made } = await api.post(deployments, { metadata: { name }, spec })
    const { resourceVersion } = made.metadata
    const raw = JSON.stringify(body).replace('"<stored>"', JSON.stringify(resourceVersion))
    const others = [{ labels: { first: 'y' } }, { annotations: { second: 'y' } }]
    meanwhile = others.map((metadata) => async () => {
      // Nobody is faster than they.
      meanwhile.unshift(async () => {})
      await api.merge(path, { metadata })
    })
    const answer = await api.send(method, `${path}${at}`, { raw, type: bodyType })
    const { body: now } = await api.get(path)
    t.equal(meanwhile.length, answer.code === 200 ? 0 : 1, 'who is refused has tried once')
    meanwhile = []
    const isKept = now.metadata.labels?.first === 'y' && now.metadata.annotations?.second === 'y'
    return { code: answer.code, replicas: now.spec.replicas, isKept, now }
  }
  const both = { code: 200, replicas: 3, isKept: true }
  const scaled = { spec: { replicas: 3 } }
  t.match(await write('PATCH', '', merge, scaled), both)
  t.match(await write('PATCH', '', strategic, scaled), both)
  const replace = { op: 'replace', path: '/spec/replicas', value: 3 }
  t.match(await write('PATCH', '', jsonPatch, [replace]), both)
  const applied = { ...type, metadata: { name }, ...scaled }
  const force = '?fieldManager=m&force=true'
  t.match(await write('PATCH', force, apply, applied), both)
  const scale = { apiVersion: 'autoscaling/v1', kind: 'Scale', metadata: { name, namespace: 'x' } }
  t.match(await write('PUT', '/scale', json, { ...scale, ...scaled }), both)
  t.match(await write('PATCH', '/scale', merge, scaled), both)
  const whole = { ...type, metadata: { name }, spec: { ...spec, replicas: 3 } }
  const status = { ...whole, status: { observedGeneration: 5 } }
  t.match(await write('PATCH', '/status', merge, { status: status.status }), {
    ...{ code: 200, replicas: 1, isKept: true },
    now: { status: { observedGeneration: 5 } },
  })
  // A PUT without a version is of the whole object.
  t.match(await write('PUT', '', json, whole), { code: 200, replicas: 3, isKept: false })
  t.match(await write('PUT', '/status', json, status), {
    ...{ code: 200, replicas: 1, isKept: false },
    now: { status: { observedGeneration: 5 } },
  })

  const metadata = { name, resourceVersion: '<stored>' }
  const refused = { code: 409, replicas: 1, isKept: false, now: { metadata: { labels: {} } } }
  t.match(await write('PUT', '', json, { ...whole, metadata }), refused)
  t.match(await write('PATCH', '', merge, { metadata, ...scaled }), refused)
  t.match(await write('PATCH', force, apply, { ...applied, metadata }), refused)
  const scaleOfStored = { ...scale, metadata: { ...scale.metadata, ...metadata }, ...scaled }
  t.match(await write('PUT', '/scale', json, scaleOfStored), refused)
  const ifUntouched = { op: 'test', path: '/metadata/labels', value: null }
  t.match(await write('PATCH', '', jsonPatch, [ifUntouched, replace]), { code: 422, replicas: 1 })
})
