/** The delete path over HTTP, rule by rule: options, preconditions, grace, finalizers, collections, evictions. */
import t, { type Test } from 'tap'
import { systemClock } from '#api/clock.js'
import { StorageError } from '#storage/driver.js'
import { openMemory } from '#storage/memory/memory-driver.js'
import { eventually } from '../eventually.js'
import { startApiServer } from './api-server.js'

const configMaps = '/api/v1/namespaces/x/configmaps'
const pods = '/api/v1/namespaces/x/pods'
const deployments = '/apis/apps/v1/namespaces/x/deployments'

const start = async (test: Test) => {
  const clock = { ms: Date.parse('2026-01-01T00:00:00Z'), now: () => clock.ms }
  const { api } = await startApiServer(test, { clock })
  return { api, clock }
}

const pod = (name: string, more: object = {}, spec: object = {}) => ({
  metadata: { name, ...more },
  spec: { nodeName: 'n1', containers: [{ name: 'c', image: 'i' }], ...spec },
})
const template = {
  metadata: { labels: { a: 'b' } },
  spec: { containers: [{ name: 'c', image: 'i' }] },
}

t.test('which paths take a delete', async (t) => {
  const { api } = await start(t)
  t.equal((await api.delete(`${configMaps}/none`)).code, 404)
  t.equal((await api.delete(configMaps)).body.kind, 'ConfigMapList')
  for (const path of ['/api/v1/pods', '/apis/apps/v1/deployments', '/api/v1/namespaces']) {
    const refused = await api.delete(path)
    t.equal(refused.code, 405, path)
    t.equal(refused.body.reason, 'MethodNotAllowed')
  }
  t.equal((await api.delete('/api/v1/namespaces/x/gadgets/a')).body.reason, 'NotFound')
})

t.test('options come from the body alone when there is one', async (t) => {
  const { api } = await start(t)
  const make = (name: string) => api.post(configMaps, { metadata: { name } })
  t.equal((await api.delete(`${configMaps}/none?gracePeriodSeconds=abc`)).code, 400)
  t.equal((await api.delete(`${configMaps}/none?propagationPolicy=X`)).code, 422)
  await make('a')
  await api.delete(`${configMaps}/a?dryRun=All`, {})
  t.equal((await api.get(`${configMaps}/a`)).code, 404, 'an empty object hides the query')
  await make('a')
  await api.delete(`${configMaps}/a?dryRun=All`)
  t.equal((await api.get(`${configMaps}/a`)).code, 200, 'without a body the query counts')
  const wrongUid = await api.delete(`${configMaps}/a?uid=other`)
  t.equal(wrongUid.code, 409)
  t.match((await api.delete(`${configMaps}/a`, { kind: 'Pod', apiVersion: 'v1' })).body, {
    code: 400,
    message: /no kind "Pod" is registered/,
  })
  const unread = await api.send('DELETE', `${configMaps}/a`, { raw: '{', type: 'application/json' })
  t.equal(unread.code, 400)
  const unknown = await api.send('DELETE', `${configMaps}/a`, { raw: 'x', type: 'text/plain' })
  t.equal(unknown.code, 415)
  const yaml = {
    raw: 'kind: DeleteOptions\napiVersion: apps/v1\nnonsense: 1\n',
    type: 'application/yaml',
  }
  t.equal((await api.send('DELETE', `${configMaps}/a`, yaml)).code, 200, 'any group, any field')
  const refusals: [raw: string, type: string, message: string][] = [
    [
      '{"apiVersion":1,"gracePeriodSeconds":"x"}',
      'application/json',
      "couldn't get version/kind; json parse error: json: cannot unmarshal number into Go struct field .apiVersion of type string",
    ],
    [
      '{"KIND":"Pod","gracePeriodSeconds":"x"}',
      'application/json',
      'no kind "Pod" is registered for version "meta.k8s.io/v1" in scheme "pkg/runtime/scheme.go:111"',
    ],
    [
      'kind: Pod\nKind: DeleteOptions\n',
      'application/yaml',
      'no kind "Pod" is registered for version "meta.k8s.io/v1" in scheme "pkg/runtime/scheme.go:111"',
    ],
  ]
  for (const [raw, type, message] of refusals)
    t.equal((await api.send('DELETE', `${configMaps}/a`, { raw, type })).body.message, message, raw)
})

t.test('options of another kind are named by their Go type', async (t) => {
  const { api } = await start(t)
  const refusalOf = async (raw: string) => {
    const { code, body } = await api.send('DELETE', `${configMaps}/none`, { raw })
    return `${code} ${body.message}`
  }
  const of = (kind: string, apiVersion: string) => refusalOf(JSON.stringify({ kind, apiVersion }))
  const unknown = (type: string) =>
    `400 converting (${type}) to (v1.DeleteOptions): unknown conversion`
  const none = (kind: string, where: string) =>
    `400 no kind "${kind}" is registered for ${where} in scheme "pkg/runtime/scheme.go:111"`
  // Some are known by their name alone, others by their version, which may be upstream's own.
  t.equal(await of('CreateOptions', 'apps/v1'), unknown('v1.CreateOptions'))
  t.equal(await of('Status', ''), unknown('v1.Status'))
  t.equal(await of('ListOptions', 'meta.k8s.io/v1'), unknown('v1.ListOptions'))
  t.equal(await of('ListOptions', 'v1'), none('ListOptions', 'version "v1"'))
  t.equal(await of('ListOptions', 'meta.k8s.io/__internal'), unknown('internalversion.ListOptions'))
  t.equal(await of('WatchEvent', 'meta.k8s.io/__internal'), unknown('v1.InternalEvent'))
  t.equal(
    await of('PartialObjectMetadataList', 'meta.k8s.io/v1beta1'),
    unknown('v1beta1.PartialObjectMetadataList'),
  )
  t.equal(
    await of('List', 'meta.k8s.io/__internal'),
    none('List', 'the internal version of group "meta.k8s.io"'),
  )
  t.equal(await of('toString', 'v1'), none('toString', 'version "v1"'))
  t.equal(
    await of('DeleteOptions', 'v1/'),
    `400 Object 'apiVersion' is missing in '{"kind":"DeleteOptions","apiVersion":"v1/"}'`,
  )
  t.equal(
    await refusalOf('{"preconditions":[],"gracePeriodSeconds":"x"}'),
    '400 json: cannot unmarshal array into Go struct field DeleteOptions.preconditions of type v1.Preconditions',
    'the first mistake counts',
  )
  for (const apiVersion of ['meta.k8s.io/__internal', 'meta.k8s.io/', '/', 'nope/v9'])
    t.equal(await of('DeleteOptions', apiVersion), '404 configmaps "none" not found', apiVersion)
})

t.test('options that make no sense are refused', async (t) => {
  const { api } = await start(t)
  const refuse = async (body: object, message: RegExp) =>
    t.match((await api.delete(`${configMaps}/a`, body)).body, { code: 422, message })
  await refuse(
    { orphanDependents: true, propagationPolicy: 'Foreground' },
    /propagationPolicy: Invalid value: "Foreground": orphanDependents and deletionPropagation cannot be both set/,
  )
  await refuse(
    { propagationPolicy: 'Away' },
    /Unsupported value: "Away": supported values: "Foreground", "Background", "Orphan", "nil"/,
  )
  await refuse(
    { propagationPolicy: '<&>' },
    /Unsupported value: "\\u003c\\u0026\\u003e": supported values/,
  )
  await refuse(
    { dryRun: ['Some'] },
    /dryRun: Unsupported value: \["Some"\]: supported values: "All"/,
  )
  await api.post(pods, pod('p'))
  const negative = await api.delete(`${pods}/p?gracePeriodSeconds=-5`)
  t.equal(negative.body.metadata.deletionGracePeriodSeconds, 1)
})

t.test('the answer depends on the kind and on whether the object is gone', async (t) => {
  const { api } = await start(t)
  const { body: made } = await api.post(configMaps, { metadata: { name: 'a' } })
  t.same((await api.delete(`${configMaps}/a`)).body, {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    details: { name: 'a', kind: 'configmaps', uid: made.metadata.uid },
  })
  await api.post('/api/v1/namespaces/x/serviceaccounts', { metadata: { name: 'a' } })
  const whole = await api.delete('/api/v1/namespaces/x/serviceaccounts/a')
  t.equal(whole.body.kind, 'ServiceAccount')
  await api.post(configMaps, { metadata: { name: 'h', finalizers: ['x.io/f'] } })
  const held = await api.delete(`${configMaps}/h`)
  t.equal(held.code, 200)
  t.equal(held.body.kind, 'ConfigMap')
  const accepted = await api.delete(`${configMaps}/h?orphanDependents=false`)
  t.equal(accepted.code, 202, 'the one option that is answered with 202')
})

t.test(
  'what an answer says of objects that are gone is not decoded from their bytes',
  async (t) => {
    const driver = openMemory({ clock: systemClock })
    const txn = driver.txn.bind(driver)
    const values = new Map<string, Buffer>()
    driver.txn = (compares, [operation, ...more]) => {
      if (operation?.type === 'put') values.set(operation.key, operation.value)
      // From here on nobody can read them.
      else values.get(operation!.key)?.fill('{')
      return txn(compares, [operation!, ...more])
    }
    const { api } = await startApiServer(t, { driver })
    const names = ['a', 'b', 'c']
    // More than the decoded objects that are kept of what is overwritten.
    const data = { text: 'x'.repeat(1_000_000) }
    const made = []
    for (const name of names) made.push(await api.post(configMaps, { metadata: { name }, data }))
    const gone = await Promise.all(names.map((name) => api.delete(`${configMaps}/${name}`)))
    t.same(
      gone.map(({ body }) => body.details?.uid),
      made.map(({ body }) => body.metadata.uid),
    )
  },
)

t.test('a precondition that does not hold is a conflict', async (t) => {
  const { api } = await start(t)
  const { body: made } = await api.post(deployments, {
    metadata: { name: 'a' },
    spec: { selector: { matchLabels: { a: 'b' } }, template },
  })
  const { uid, resourceVersion } = made.metadata
  const refused = await api.delete(`${deployments}/a`, {
    preconditions: { uid: 'u', resourceVersion: '1' },
  })
  t.match(refused.body, {
    code: 409,
    message: `Operation cannot be fulfilled on Deployment.apps "a": the UID in the precondition (u) does not match the UID in record (${uid}). The object might have been deleted and then recreated`,
    details: { kind: 'Deployment' },
  })
  t.equal((await api.delete(`${deployments}/a`, { preconditions: { uid: '' } })).code, 409)
  t.equal((await api.delete(`${deployments}/a?uid=&dryRun=All`)).code, 200)
  t.equal((await api.delete(`${deployments}/a?resourceVersion=1`)).code, 409)
  t.equal(
    (await api.delete(`${deployments}/a`, { preconditions: { uid, resourceVersion } })).code,
    200,
  )
  const { body: live } = await api.post(pods, pod('p'))
  const forced = await api.delete(`${pods}/p`, {
    gracePeriodSeconds: 0,
    preconditions: { resourceVersion: live.metadata.resourceVersion },
  })
  t.equal(forced.code, 200, 'the first of two writes does not fail the second')
})

t.test('where only the collector held an object, no version that was asked for fits', async (t) => {
  const { api } = await start(t)
  const make = async (name: string) => {
    const metadata = { name, finalizers: ['foregroundDeletion'] }
    return (await api.post(configMaps, { metadata })).body.metadata
  }
  const { uid, resourceVersion } = await make('a')
  const propagationPolicy = 'Background'
  const refused = await api.delete(`${configMaps}/a`, {
    propagationPolicy,
    preconditions: { uid, resourceVersion },
  })
  t.equal(refused.code, 409)
  t.equal(
    refused.body.message,
    `Operation cannot be fulfilled on configmaps "a": StorageError: invalid object, Code: 4, Key: /registry/configmaps/x/a, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: ResourceVersion in precondition: , ResourceVersion in object meta: ${resourceVersion}`,
  )
  t.equal((await api.get(`${configMaps}/a`)).body.metadata.resourceVersion, resourceVersion)
  const byUid = await api.delete(`${configMaps}/a`, { propagationPolicy, preconditions: { uid } })
  t.equal(byUid.code, 200, 'its uid fits')
})

t.test('the PUT that removes an object is answered as it came, empty lists and all', async (t) => {
  const { api } = await start(t)
  const roles = '/apis/rbac.authorization.k8s.io/v1/namespaces/x/roles'
  const role = (finalizers: string[]) => ({ metadata: { name: 'r', finalizers }, rules: [] })
  t.equal((await api.post(roles, role(['x.io/a']))).body.rules, null, 'stored, it is nothing')
  await api.delete(`${roles}/r`)
  const last = await api.put(`${roles}/r`, role([]))
  t.equal(last.code, 200)
  t.strictSame(last.body.rules, [])
  t.equal(last.body.metadata.finalizers, undefined)
  t.equal((await api.get(`${roles}/r`)).code, 404)
})

t.test('grace only shrinks, and the end never lies in the past', async (t) => {
  const { api, clock } = await start(t)
  await api.post(pods, pod('p'))
  const first = await api.delete(`${pods}/p?gracePeriodSeconds=60`)
  t.match(first.body.metadata, {
    generation: 2,
    deletionTimestamp: '2026-01-01T00:01:00Z',
    deletionGracePeriodSeconds: 60,
  })
  const same = await api.delete(`${pods}/p?gracePeriodSeconds=90`)
  t.same(same.body, first.body, 'no write')
  const shorter = await api.delete(`${pods}/p?gracePeriodSeconds=30`)
  t.match(shorter.body.metadata, {
    generation: 2,
    deletionTimestamp: '2026-01-01T00:00:30Z',
    deletionGracePeriodSeconds: 30,
  })
  clock.ms += 20_000
  const late = await api.delete(`${pods}/p?gracePeriodSeconds=5`)
  t.match(late.body.metadata, {
    deletionTimestamp: '2026-01-01T00:00:20Z',
    deletionGracePeriodSeconds: 1,
  })
  t.equal((await api.delete(`${pods}/p?gracePeriodSeconds=0`)).code, 200)
  t.equal((await api.get(`${pods}/p`)).code, 404)
  await api.post(configMaps, { metadata: { name: 'a' } })
  await api.delete(`${configMaps}/a?gracePeriodSeconds=60`)
  t.equal((await api.get(`${configMaps}/a`)).code, 404)
})

t.test('a Pod without a node, or that has ended, goes at once', async (t) => {
  const { api } = await start(t)
  await api.post(pods, pod('p', {}, { nodeName: undefined }))
  await api.delete(`${pods}/p?gracePeriodSeconds=60`)
  t.equal((await api.get(`${pods}/p`)).code, 404)
  await api.post(pods, pod('p', {}, { terminationGracePeriodSeconds: 7 }))
  t.equal((await api.delete(`${pods}/p`)).body.metadata.deletionGracePeriodSeconds, 7)
  await api.post(pods, pod('q'))
  await api.merge(`${pods}/q/status`, { status: { phase: 'Succeeded' } })
  await api.delete(`${pods}/q`)
  t.equal((await api.get(`${pods}/q`)).code, 404)
})

t.test('finalizers hold an object until the last one goes', async (t) => {
  const { api } = await start(t)
  await api.post(configMaps, { metadata: { name: 'a', finalizers: ['x.io/a', 'x.io/b'] } })
  const held = (await api.delete(`${configMaps}/a`)).body
  t.match(held.metadata, { deletionGracePeriodSeconds: 0, finalizers: ['x.io/a', 'x.io/b'] })
  t.same((await api.delete(`${configMaps}/a`)).body, held)
  const taken = await api.post(configMaps, { metadata: { name: 'a' } })
  t.match(taken.body, {
    code: 409,
    message: 'object is being deleted: configmaps "a" already exists',
  })
  const added = await api.merge(`${configMaps}/a`, {
    metadata: { finalizers: ['x.io/a', 'x.io/b', 'x.io/c'] },
  })
  t.match(added.body, {
    code: 422,
    message:
      /no new finalizers can be added if the object is being deleted, found new finalizers \[\]string\{"x.io\/c"\}/,
  })
  const undone = await api.merge(`${configMaps}/a`, { metadata: { deletionTimestamp: null } })
  t.equal(undone.body.metadata.deletionTimestamp, held.metadata.deletionTimestamp)
  await api.merge(`${configMaps}/a?dryRun=All`, { metadata: { finalizers: null } })
  t.equal((await api.get(`${configMaps}/a`)).code, 200)
  t.equal((await api.merge(`${configMaps}/a`, { metadata: { finalizers: ['x.io/b'] } })).code, 200)
  const last = await api.merge(`${configMaps}/a`, {
    metadata: { finalizers: null },
    data: { k: 'v' },
  })
  t.match(last.body, { kind: 'ConfigMap', data: { k: 'v' } }, 'the object as submitted')
  t.equal((await api.get(`${configMaps}/a`)).code, 404)
})

t.test('a grace that still runs outlives the last finalizer', async (t) => {
  const { api } = await start(t)
  await api.post(pods, pod('p', { finalizers: ['x.io/f'] }))
  await api.delete(`${pods}/p?gracePeriodSeconds=30`)
  await api.merge(`${pods}/p`, { metadata: { finalizers: null } })
  t.equal((await api.get(`${pods}/p`)).code, 200)
  await api.delete(`${pods}/p?gracePeriodSeconds=0`)
  t.equal((await api.get(`${pods}/p`)).code, 404)
})

t.test('a propagation policy is a finalizer', async (t) => {
  const { api } = await start(t)
  const finalizersAfter = async (options: object, finalizers: string[]) => {
    await api.post(deployments, {
      metadata: { name: 'a', finalizers },
      spec: { selector: { matchLabels: { a: 'b' } }, template },
    })
    await api.delete(`${deployments}/a`, options)
    const { code, body } = await api.get(`${deployments}/a`)
    await api.merge(`${deployments}/a`, { metadata: { finalizers: null } })
    return code === 404 ? 'gone' : body.metadata.finalizers
  }
  const other = 'x.io/f'
  const rows: [object, string[], unknown][] = [
    [{ propagationPolicy: 'Foreground' }, [other], [other, 'foregroundDeletion']],
    [{ propagationPolicy: 'Foreground' }, ['orphan'], ['foregroundDeletion']],
    [{ propagationPolicy: 'Background' }, ['orphan', other], [other]],
    [{ propagationPolicy: 'Background' }, ['foregroundDeletion'], 'gone'],
    [{ propagationPolicy: 'Orphan' }, [other], [other, 'orphan']],
    [{ orphanDependents: true }, [], ['orphan']],
    [{ orphanDependents: false }, ['orphan'], 'gone'],
    [{}, ['orphan', other], ['orphan', other]],
    [{}, ['foregroundDeletion', other], ['foregroundDeletion', other]],
    [{}, [], 'gone'],
  ]
  for (const [options, finalizers, expected] of rows)
    t.same(
      await finalizersAfter(options, finalizers),
      expected,
      `${JSON.stringify(options)} over ${finalizers}`,
    )
  const events = '/api/v1/namespaces/x/events'
  const about = { involvedObject: { kind: 'Pod', name: 'p', namespace: 'x' } }
  await api.post(events, { metadata: { name: 'e', finalizers: ['orphan'] }, ...about })
  await api.delete(`${events}/e`, { propagationPolicy: 'Foreground' })
  t.equal((await api.get(`${events}/e`)).code, 404, 'nothing can depend on an Event')
  await api.post(pods, pod('p', { finalizers: ['orphan'] }))
  const options = { propagationPolicy: 'Background', gracePeriodSeconds: 5 }
  const { body } = await api.delete(`${pods}/p`, options)
  t.equal(body.metadata.deletionGracePeriodSeconds, 5)
  t.notOk('finalizers' in body.metadata, 'what has its grace is let go of, too')
})

t.test('jobs leave their pods behind, and say so', async (t) => {
  const { api } = await start(t)
  const jobs = '/apis/batch/v1/namespaces/x/jobs'
  const job = {
    metadata: { name: 'a' },
    spec: { template: { spec: { ...template.spec, restartPolicy: 'Never' } } },
  }
  await api.post(jobs, job)
  const orphaning = await api.delete(`${jobs}/a`)
  t.match(orphaning.headers.warning, /^299 - "child pods are preserved by default/)
  t.same(orphaning.body.metadata.finalizers, ['orphan'])
  const quiet = await api.delete(`${jobs}/a`, { propagationPolicy: 'Background' })
  t.equal(quiet.headers.warning, undefined)
  const torn = await api.delete(`${jobs}?limit=1&continue=x`)
  t.equal(torn.code, 400)
  t.match(torn.headers.warning, /^299 - "child pods/, 'said before the list is asked for')
  const senseless = await api.delete(`${jobs}?resourceVersionMatch=Exact`)
  t.equal(senseless.code, 422)
  t.equal(senseless.headers.warning, undefined)
})

t.test('a grace of any int64 is kept, and its end is that of Go', async (t) => {
  const { api } = await start(t)
  const end = async (name: string, body: string, path = '') => {
    const { code, text } = await api.send('DELETE', `${pods}/${name}${path}`, { raw: body })
    const [, dts] = /"deletionTimestamp":"([^"]*)"/.exec(text) ?? []
    const [, grace] = /"deletionGracePeriodSeconds":(-?\d+)/.exec(text) ?? []
    return `${code} ${dts} ${grace}`
  }
  await api.post(pods, pod('p'))
  const longest = '9223372036854775807'
  // In nanoseconds that is one second less than nothing.
  t.equal(
    await end('p', `{"gracePeriodSeconds":${longest}}`),
    `200 2025-12-31T23:59:59Z ${longest}`,
  )
  t.equal(await end('p', '{"gracePeriodSeconds":50}'), '200 2026-01-01T00:00:50Z 50')
  const spec = { terminationGracePeriodSeconds: 9_223_372_037 }
  await api.post(pods, pod('q', {}, spec))
  t.equal(await end('q', ''), '200 1733-09-22T00:12:43Z 9223372037')
  await api.post(pods, pod('r'))
  t.equal(
    await end('r', '', '?gracePeriodSeconds=9007199254740993'),
    '200 2172-02-20T23:53:39Z 9007199254740993',
  )
})

t.test('a dry run in which the last finalizer goes shows an object of nothing', async (t) => {
  const { api } = await start(t)
  await api.post(configMaps, {
    metadata: { name: 'a', finalizers: ['orphan'] },
    data: { a: 'b' },
  })
  const dry = await api.delete(`${configMaps}/a?dryRun=All&propagationPolicy=Background`)
  t.same(dry.body, { kind: 'ConfigMap', apiVersion: 'v1', metadata: {} })
  const { body } = await api.delete(`${configMaps}/a?propagationPolicy=Background`)
  t.match(body, { kind: 'Status', status: 'Success', details: { name: 'a' } })
})

t.test('a dry run shows and does nothing', async (t) => {
  const { api } = await start(t)
  const { body: live } = await api.post(pods, pod('p'))
  const would = await api.delete(`${pods}/p`, { dryRun: ['All'], gracePeriodSeconds: 5 })
  t.match(would.body.metadata, {
    deletionGracePeriodSeconds: 5,
    resourceVersion: live.metadata.resourceVersion,
  })
  const dry = (more: string) => api.delete(`${pods}/p?dryRun=All&orphanDependents=false&${more}`)
  t.equal((await dry('gracePeriodSeconds=0')).code, 200, 'it would be gone')
  t.equal((await dry('gracePeriodSeconds=1')).code, 202)
  t.same((await api.get(`${pods}/p`)).body, live)
})

t.test('a collection is deleted item by item, and answered as it was listed', async (t) => {
  const { api } = await start(t)
  for (const name of ['a', 'b', 'c', 'd'])
    await api.post(configMaps, { metadata: { name, labels: { odd: name < 'c' ? 'y' : 'n' } } })
  const names = (list: { items: { metadata: { name: string } }[] }) =>
    list.items.map((i) => i.metadata.name)
  const page = await api.delete(`${configMaps}?limit=1`)
  t.same(names(page.body), ['a'])
  t.ok(page.body.metadata.continue)
  t.same(names((await api.delete(`${configMaps}?labelSelector=odd=n&dryRun=All`)).body), ['c', 'd'])
  t.same(names((await api.delete(`${configMaps}?labelSelector=odd=n`)).body), ['c', 'd'])
  t.same(names((await api.get(configMaps)).body), ['b'])
  t.equal((await api.delete(`${configMaps}?fieldSelector=data.k=v`)).code, 400)
  t.equal((await api.delete(`${configMaps}?resourceVersionMatch=Exact`)).code, 422)
  t.equal((await api.delete(configMaps, { preconditions: { uid: 'no' } })).code, 409)
  const later = (await api.post(configMaps, { metadata: { name: 'later' } })).body
  const { uid } = later.metadata
  t.equal((await api.delete(configMaps, { preconditions: { uid } })).code, 409)
  t.same(names((await api.get(configMaps)).body), ['b', 'later'], 'nothing after b went')
  await api.post(pods, pod('p', {}, { terminationGracePeriodSeconds: 5 }))
  await api.post(pods, pod('q', {}, { terminationGracePeriodSeconds: 50 }))
  const before = await api.delete(pods)
  t.equal(before.body.items[0].metadata.deletionTimestamp, undefined)
  const graces = (await api.get(pods)).body.items.map(
    (i: { metadata: { deletionGracePeriodSeconds: number } }) =>
      i.metadata.deletionGracePeriodSeconds,
  )
  t.same(graces, [5, 50], 'each pod has its own grace')
})

t.test('what a collection removes or holds waits for the disk together', async (t) => {
  const driver = openMemory({ clock: systemClock })
  const txn = driver.txn.bind(driver)
  let waiting: (() => void)[] | undefined
  driver.txn = async (...args) => {
    await new Promise<void>((go) => (waiting ? waiting.push(go) : go()))
    return txn(...args)
  }
  const { api } = await startApiServer(t, { driver })
  const finalizers = ['x.io/f']
  for (const metadata of [{}, { finalizers }]) {
    for (const name of ['a', 'b', 'c', 'd'])
      await api.post(configMaps, { metadata: { name, ...metadata } })
    const held = (waiting = [] as (() => void)[])
    const deleted = api.delete(configMaps)
    await eventually('all four to wait at once', () => held.length === 4)
    waiting = undefined
    for (const go of held) go()
    t.equal((await deleted).body.items.length, 4)
  }
})

t.test('a delete that the store fails is reported so, and nothing is gone', async (t) => {
  const driver = openMemory({ clock: systemClock })
  const { api } = await startApiServer(t, { driver })
  const finalizers = ['x.io/f']
  await api.post('/api/v1/namespaces', { metadata: { name: 'x' } })
  await api.post(configMaps, { metadata: { name: 'free' } })
  await api.post(configMaps, { metadata: { name: 'held', finalizers } })
  await api.post(pods, pod('p'))
  const paths = [`${configMaps}/free`, `${configMaps}/held`, `${pods}/p`, '/api/v1/namespaces/x']
  const stored = async () => Promise.all(paths.map(async (path) => (await api.get(path)).body))
  const before = await stored()
  const txn = driver.txn.bind(driver)
  driver.txn = () => Promise.reject(new StorageError('Unavailable', 'the disk is away'))
  for (const path of [...paths, configMaps]) t.equal((await api.delete(path)).code, 500, path)
  driver.txn = txn
  t.same(await stored(), before)
})

t.test('a namespace is marked first and removed when it is finalized', async (t) => {
  const { api } = await start(t)
  const path = '/api/v1/namespaces/n1'
  await api.post('/api/v1/namespaces', { metadata: { name: 'n1' } })
  const wrong = await api.delete(path, { preconditions: { uid: 'u' } })
  t.match(wrong.body.message, /on namespaces "n1": Precondition failed: UID in precondition: u/)
  const marked = (await api.delete(path)).body
  t.equal(marked.status.phase, 'Terminating')
  t.notOk('deletionGracePeriodSeconds' in marked.metadata)
  t.same((await api.delete(path)).body, marked)
  await api.put(`${path}/finalize`, { metadata: { name: 'n1' }, spec: { finalizers: [] } })
  t.equal((await api.get(path)).code, 404)
})

t.test('a pod that ends gets no node; a bound one keeps its own', async (t) => {
  const { api } = await start(t)
  const binding = (name: string) => ({ metadata: { name }, target: { kind: 'Node', name: 'n2' } })
  await api.post(pods, pod('p', { finalizers: ['x.io/f'] }, { nodeName: undefined }))
  await api.delete(`${pods}/p`)
  const ending = await api.post(`${pods}/p/binding`, binding('p'))
  t.match(ending.body.message, /pods\/binding "p": pod p is being deleted, cannot be assigned/)
  await api.post(pods, pod('q'))
  const bound = await api.post(`${pods}/q/binding`, binding('q'))
  t.match(bound.body.message, /pod q is already assigned to node "n1"/)
})

t.test('what a binding and an eviction write into a pod stands where Go writes it', async (t) => {
  const { api } = await start(t)
  const target = { kind: 'Node', name: 'n2' }
  const binding = { metadata: { name: 'p', labels: { a: 'b' } }, target }
  await api.post(pods, pod('p', {}, { nodeName: undefined, schedulerName: 's' }))
  await api.post(`${pods}/p/binding`, binding)
  await api.post(`${pods}/p/eviction`, { metadata: { name: 'p' } })
  const { spec, status } = (await api.get(`${pods}/p`)).body
  const order = (object: object, ...fields: string[]) =>
    Object.keys(object).filter((field) => fields.includes(field))
  t.same(order(spec, 'nodeName', 'schedulerName'), ['nodeName', 'schedulerName'])
  t.same(Object.keys(status), ['phase', 'conditions', 'qosClass'])
})

t.test('an eviction may ask for a dry run twice, but not differently', async (t) => {
  const { api } = await start(t)
  await api.post(pods, pod('p'))
  const evict = (dryRun: string[]) =>
    api.post(`${pods}/p/eviction?dryRun=All`, {
      metadata: { name: 'p' },
      deleteOptions: { dryRun },
    })
  t.equal((await evict(['All'])).code, 201)
  const { body } = await evict(['Some'])
  t.equal(body.code, 500)
  t.equal(body.reason, undefined)
  t.equal(body.message, 'Non-matching dry-run options in request and content: [All] and [Some]')
  t.equal((await api.get(`${pods}/p`)).body.metadata.deletionTimestamp, undefined)
})

t.test('an eviction cannot ask for the deletion of what cannot be read', async (t) => {
  const { api } = await start(t)
  await api.post(pods, pod('p'))
  const refused = await api.post(`${pods}/p/eviction`, {
    metadata: { name: 'p' },
    deleteOptions: { ignoreStoreReadErrorWithClusterBreakingPotential: true },
  })
  t.equal(refused.code, 422)
  t.equal(
    refused.body.message,
    'Eviction.policy "p" is invalid: deleteOptions.ignoreStoreReadErrorWithClusterBreakingPotential: Invalid value: true: can not be set for pod eviction, try after removing the option',
  )
  t.equal((await api.get(`${pods}/p`)).body.metadata.deletionTimestamp, undefined)
})

t.test('an eviction of another version is refused as of that version', async (t) => {
  const { api } = await start(t)
  const eviction = { apiVersion: 'policy/v1beta1', kind: 'Eviction' }
  const strict = await api.post(`${pods}/p/eviction?fieldValidation=Strict`, { ...eviction, x: 1 })
  t.equal(
    strict.body.message,
    'Eviction in version "v1beta1" cannot be handled as a Eviction: strict decoding error: unknown field "x"',
  )
  const unread = await api.post(`${pods}/p/eviction`, { ...eviction, deleteOptions: 3 })
  t.equal(
    unread.body.message,
    'Eviction in version "v1beta1" cannot be handled as a Eviction: json: cannot unmarshal number into Go struct field Eviction.deleteOptions of type v1.DeleteOptions',
  )
})

t.test('an apiVersion that names no version is that of the path', async (t) => {
  const { api } = await start(t)
  const made = await api.post(configMaps, {
    ...{ apiVersion: '/', kind: 'ConfigMap' },
    metadata: { name: 'a' },
  })
  t.equal(made.body.apiVersion, 'v1')
  const other = await api.post(pods, { apiVersion: '/', kind: 'DeleteOptions' })
  t.match(other.body.message, /^DeleteOptions in version "v1" cannot be handled as a Pod: conv/)
  const role = { apiVersion: 'rbac.authorization.k8s.io/', kind: 'Role', metadata: { name: 'a' } }
  const roles = '/apis/rbac.authorization.k8s.io/v1/namespaces/x/roles'
  t.equal((await api.post(roles, role)).code, 201)
  const refusal = async (apiVersion: string) =>
    (await api.post(configMaps, { apiVersion, kind: 'X' })).body.message
  t.equal(
    await refusal('a/'),
    `X in version "" cannot be handled as a ConfigMap: Object 'apiVersion' is missing in '{"apiVersion":"a/","kind":"X"}'`,
  )
  t.equal(
    await refusal('/a'),
    'X in version "a" cannot be handled as a ConfigMap: no kind "X" is registered for version "a" in scheme "pkg/runtime/scheme.go:111"',
  )
})

t.test('why nothing may be disrupted', async (t) => {
  const { api } = await start(t)
  const budget = '/apis/policy/v1/namespaces/x/poddisruptionbudgets'
  await api.post(pods, pod('p', { labels: { a: 'b' } }))
  const ready = [{ type: 'Ready', status: 'True' }]
  await api.merge(`${pods}/p/status`, { status: { phase: 'Running', conditions: ready } })
  const spec = { minAvailable: 1, selector: { matchLabels: { a: 'b' } } }
  await api.post(budget, { metadata: { name: 'b' }, spec })
  const lastTransitionTime = '2026-01-01T00:00:00Z'
  const refusal = async (currentHealthy: number, reason: string, message: string) => {
    const type = 'DisruptionAllowed'
    const conditions = [{ type, status: 'False', reason, message, lastTransitionTime }]
    const numbers = { currentHealthy, desiredHealthy: 1, expectedPods: 1 }
    const status = { observedGeneration: 1, disruptionsAllowed: 0, ...numbers, conditions }
    await api.merge(`${budget}/b/status`, { status })
    const { body } = await api.post(`${pods}/p/eviction`, { metadata: { name: 'p' } })
    return body.details.causes[0].message
  }
  const few = 'The disruption budget b needs 1 healthy pods and has 1 currently'
  const none = 'The disruption budget b does not allow evicting pods currently'
  t.equal(await refusal(1, 'SyncFailed', 'no scale'), `${none} because it failed sync: no scale`)
  t.equal(await refusal(1, 'SyncFailed', ''), few)
  t.equal(await refusal(1, 'Other', 'words'), few)
  t.equal(await refusal(3, 'Other', 'words'), `${none} (Other): words`)
  t.equal(await refusal(3, 'Other', ''), none)
})

t.test('evictions ask the disruption budget', async (t) => {
  const { api } = await start(t)
  const budgets = '/apis/policy/v1/namespaces/x/poddisruptionbudgets'
  const evict = (name: string) => api.post(`${pods}/${name}/eviction`, { metadata: { name } })
  for (const name of ['p', 'q']) {
    await api.post(pods, pod(name, { labels: { a: 'b' } }))
    const conditions = [{ type: 'Ready', status: 'True' }]
    await api.merge(`${pods}/${name}/status`, { status: { phase: 'Running', conditions } })
  }
  await api.post(budgets, {
    metadata: { name: 'b' },
    spec: { minAvailable: 1, selector: { matchLabels: { a: 'b' } } },
  })
  const stale = await evict('p')
  t.equal(stale.code, 429)
  t.equal(stale.headers['retry-after'], '10')
  t.same(Object.keys(stale.body.details), ['causes', 'retryAfterSeconds'])
  await api.merge(`${budgets}/b/status`, {
    status: { observedGeneration: 1, disruptionsAllowed: 1, currentHealthy: 2, desiredHealthy: 1 },
  })
  t.match((await evict('p')).body, { status: 'Success', code: 201 })
  const spent = (await api.get(`${budgets}/b`)).body.status
  t.equal(spent.disruptionsAllowed, 0)
  t.ok(spent.disruptedPods.p)
  const exhausted = await evict('q')
  t.match(exhausted.body, {
    code: 429,
    details: { causes: [{ reason: 'DisruptionBudget' }] },
  })
  t.equal(exhausted.headers['retry-after'], undefined)
  t.match((await api.get(`${pods}/p`)).body.status.conditions, [
    { type: 'Ready' },
    { type: 'DisruptionTarget', reason: 'EvictionByEvictionAPI' },
  ])
})

t.test('what a watcher sees of deletes', async (t) => {
  const { api } = await start(t)
  const { body: list } = await api.get(pods)
  await api.post(pods, pod('p', { finalizers: ['x.io/f'] }))
  await api.delete(`${pods}/p?gracePeriodSeconds=0`)
  await api.merge(`${pods}/p`, { metadata: { finalizers: null } })
  await api.post(pods, pod('q'))
  const gone = await api.delete(`${pods}/q?gracePeriodSeconds=0`)
  for (const name of ['r', 's', 't']) await api.post(pods, pod(name))
  await api.delete(pods, { gracePeriodSeconds: 0 })
  const watch = await api.watch(`${pods}?watch=1&resourceVersion=${list.metadata.resourceVersion}`)
  const events = await watch.take(15)
  watch.close()
  t.same(
    events.map(({ type, object }) => `${object.metadata.name} ${type}`),
    [
      ...['p ADDED', 'p MODIFIED', 'p DELETED', 'q ADDED', 'q MODIFIED', 'q DELETED'],
      ...['r ADDED', 's ADDED', 't ADDED', 'r MODIFIED', 'r DELETED'],
      ...['s MODIFIED', 's DELETED', 't MODIFIED', 't DELETED'],
    ],
  )
  t.same(events[2]?.object.metadata.finalizers, ['x.io/f'], 'the state before the update')
  t.ok(
    Number(events[2]?.object.metadata.resourceVersion) >
      Number(events[1]?.object.metadata.resourceVersion),
  )
  t.equal(events[5]?.object.metadata.resourceVersion, gone.body.metadata.resourceVersion)
})
