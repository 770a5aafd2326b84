/** Snapshots: what a test prepared once, and goes back to before each case. */
import { renameSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import t from 'tap'
import { systemClock } from '#api/clock.js'
import { limits } from '#limits'
import type { Server } from '#src/index.js'
import { openStorage } from '#storage/open.js'
import { runCommand, runCommandIn } from '../commands/run-command.js'
import { eventually } from '../eventually.js'
import { temporaryDirectory } from '../storage/level-fixture.js'
import { definitionOf, textsOf, versionOf } from './definition-body.js'
import { call, openWatch, startServer } from './start-server.js'

// Timers of stores keep no process alive.
const alive = setInterval(() => {}, 1_000)
t.teardown(() => clearInterval(alive))

const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const widget = definitionOf({
  group: 'snap.example.com',
  scope: 'Namespaced',
  names: { plural: 'widgets', kind: 'Widget' },
  versions: [versionOf('v1', { type: 'object', properties: { spec: textsOf(['a']) } })],
})
const widgets = '/apis/snap.example.com/v1/namespaces/default/widgets'
const widgetOf = (name: string, finalizers: string[] = []) => ({
  apiVersion: 'snap.example.com/v1',
  kind: 'Widget',
  metadata: { name, finalizers },
  spec: { a: 'before' },
})
const maps = '/api/v1/namespaces/default/configmaps'

const caller = (server: Server) => async (method: string, path: string, body?: object) => {
  const answer = await call(server, { method, path, ...(body && { body }) })
  return answer
}

const served = (server: Server) =>
  eventually('the definition is served', async () => {
    const { status } = await call(server, { path: widgets })
    return status === 200
  })

t.test('what the server knows follows what is stored', async (t) => {
  let laterMs = 0
  const server = await startServer(t, { clock: { now: () => systemClock.now() + laterMs } })
  const send = caller(server)
  const empty = await server.snapshot()
  await send('POST', definitions, widget)
  await served(server)
  await send('POST', widgets, widgetOf('w', ['example.com/hold']))
  await send('POST', '/api/v1/namespaces', { metadata: { name: 'team' } })
  const account = await send('POST', '/api/v1/namespaces/team/serviceaccounts', {
    metadata: { name: 'robot' },
  })
  t.equal(account.status, 201)
  await send('POST', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
    metadata: { name: 'robot' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ kind: 'ServiceAccount', name: 'robot', namespace: 'team' }],
  })
  const token = await send('POST', '/api/v1/namespaces/team/serviceaccounts/robot/token', {
    spec: {},
  })
  const robot = token.body.status.token
  const service = {
    metadata: { name: 's' },
    spec: { type: 'NodePort', clusterIP: '10.0.0.77', ports: [{ port: 80, nodePort: 30077 }] },
  }
  t.equal((await send('POST', '/api/v1/namespaces/team/services', service)).status, 201)
  await send('POST', '/api/v1/namespaces/team/resourcequotas', {
    metadata: { name: 'q' },
    spec: { hard: { configmaps: '1' } },
  })
  // Else the controller's to say, and no controller runs.
  await send('PUT', '/api/v1/namespaces/team/resourcequotas/q/status', {
    metadata: { name: 'q' },
    status: { hard: { configmaps: '1' }, used: { configmaps: '0' } },
  })
  const policies = '/apis/admissionregistration.k8s.io/v1'
  await send('POST', `${policies}/validatingadmissionpolicies`, {
    metadata: { name: 'p' },
    spec: {
      matchConstraints: {
        resourceRules: [
          { apiGroups: [''], apiVersions: ['v1'], resources: ['secrets'], operations: ['CREATE'] },
        ],
      },
      validations: [{ expression: 'false', message: 'no secrets here' }],
    },
  })
  await send('POST', `${policies}/validatingadmissionpolicybindings`, {
    metadata: { name: 'p' },
    spec: { policyName: 'p', validationActions: ['Deny'] },
  })
  const levels = '/apis/flowcontrol.apiserver.k8s.io/v1'
  await send('POST', `${levels}/prioritylevelconfigurations`, {
    metadata: { name: 'mine' },
    spec: {
      type: 'Limited',
      limited: { nominalConcurrencyShares: 5, limitResponse: { type: 'Reject' } },
    },
  })
  const remote = await send('POST', '/apis/apiregistration.k8s.io/v1/apiservices', {
    metadata: { name: 'v1.remote.example.com' },
    spec: {
      group: 'remote.example.com',
      version: 'v1',
      service: { namespace: 'team', name: 'absent' },
      groupPriorityMinimum: 10,
      versionPriority: 10,
      insecureSkipTLSVerify: true,
    },
  })
  t.equal(remote.status, 201)

  const secret = { metadata: { name: 'x' } }
  const secrets = '/api/v1/namespaces/default/secrets'
  const asRobot = () => call(server, { path: '/api/v1/namespaces/team/services', token: robot })
  const flows = () =>
    call(server, { path: '/debug/api_priority_and_fairness/dump_priority_levels' })
  const isWhole = async (): Promise<boolean> => {
    const answers = await Promise.all([
      send('GET', `${widgets}/w`),
      asRobot(),
      send('POST', `${secrets}?dryRun=All`, secret),
      send('POST', '/api/v1/namespaces/default/services?dryRun=All', {
        ...service,
        metadata: { name: 'other' },
      }),
      send('GET', '/apis/remote.example.com/v1'),
      flows(),
    ])
    const codes = answers.slice(0, 5).map(({ status }) => status)
    return codes.join() === '200,200,422,422,503' && answers[5]!.text.includes('mine')
  }
  await eventually('all is in force', isWhole)
  const full = await server.snapshot()

  const gone = await server.restore(empty)
  t.ok(gone.deleted > 10, 'all of that went, finalizers and all')
  t.equal((await send('GET', widgets)).status, 404)
  laterMs = limits.goodTokenKeptMs
  t.equal((await asRobot()).status, 401, 'the token of an account that is gone')
  t.equal((await send('POST', `${secrets}?dryRun=All`, secret)).status, 201)
  const taken = { ...service, metadata: { name: 'other' } }
  t.equal((await send('POST', '/api/v1/namespaces/default/services', taken)).status, 201)
  t.equal((await send('POST', '/api/v1/namespaces/team/configmaps', secret)).status, 404)
  await eventually('what else follows', async () => {
    const { status } = await send('GET', '/apis/remote.example.com/v1')
    return status === 404 && !(await flows()).text.includes('mine')
  })

  await server.restore(full)
  t.equal((await send('GET', `${widgets}/w`)).status, 200, 'there at once')
  t.equal((await asRobot()).status, 200)
  await eventually('all is in force again', isWhole)
  t.equal((await send('GET', '/api/v1/namespaces/default/services/other')).status, 404)
  t.equal((await send('POST', '/api/v1/namespaces/team/configmaps', secret)).status, 201)
  const more = await send('POST', '/api/v1/namespaces/team/configmaps', { metadata: { name: 'y' } })
  t.match(more.body, { code: 403, message: /exceeded quota: q/ })
  t.match(await server.restore(full), { created: 0, updated: 1, deleted: 1 }, 'the quota counts')
  t.equal((await send('POST', '/api/v1/namespaces/team/configmaps', secret)).status, 201)
})

t.test('a watch sees what differs, and both events of a replaced object', async (t) => {
  const server = await startServer(t)
  const send = caller(server)
  for (const name of ['changed', 'gone', 'other', 'same'])
    await send('POST', maps, { metadata: { name }, data: { a: 'before' } })
  const before = await server.snapshot()
  const { body: then } = await send('GET', maps)
  await send('PUT', `${maps}/changed`, { metadata: { name: 'changed' }, data: { a: 'after' } })
  for (const name of ['gone', 'other']) await send('DELETE', `${maps}/${name}`)
  for (const name of ['other', 'new'])
    await send('POST', maps, { metadata: { name, finalizers: ['example.com/hold'] } })
  const { body: now } = await send('GET', maps)
  const from = now.metadata.resourceVersion
  t.match(await server.restore(before), { created: 1, updated: 2, deleted: 1 })
  const { body: restored } = await send('GET', maps)
  await send('POST', maps, { metadata: { name: 'end' } })
  const watch = openWatch(t, server, `${maps}?watch=1&resourceVersion=${from}`)
  const events = (await watch.lines(6)).map((line) => JSON.parse(line))
  t.same(
    events.map(({ type, object: { metadata, data } }) => [type, metadata.name, data?.a]),
    [
      ['DELETED', 'new', undefined],
      ['MODIFIED', 'changed', 'before'],
      ['ADDED', 'gone', 'before'],
      ['DELETED', 'other', undefined],
      ['ADDED', 'other', 'before'],
      ['ADDED', 'end', undefined],
    ],
  )
  const versions = events.map(({ object }) => Number(object.metadata.resourceVersion))
  t.ok(versions.every((version, i) => version > (versions[i - 1] ?? Number(from))))
  // biome-ignore lint/suspicious/noExplicitAny: objects as they come
  const withoutVersions = ({ items }: any) =>
    // biome-ignore lint/suspicious/noExplicitAny: objects as they come
    items.map(({ metadata: { resourceVersion: _, ...metadata }, ...rest }: any) => ({
      ...rest,
      metadata,
    }))
  t.same(withoutVersions(restored), withoutVersions(then))
  const versionOfSame = ({ items }: { items: { metadata: Record<string, string> }[] }) =>
    items.find(({ metadata }) => metadata.name === 'same')!.metadata.resourceVersion
  t.equal(versionOfSame(restored), versionOfSame(then), 'what is the same is not written')
})

t.test('a definition that goes comes back with its objects, and goes again at once', async (t) => {
  const server = await startServer(t)
  const send = caller(server)
  await send('POST', definitions, widget)
  await served(server)
  for (let i = 0; i < 30; i++)
    await send('POST', widgets, widgetOf(`w${i}`, i < 2 ? ['example.com/hold'] : []))
  const { body: definition } = await send('GET', `${definitions}/${widget.metadata.name}`)
  const before = await server.snapshot()
  const path = `${definitions}/${widget.metadata.name}`
  for (let round = 0; round < 4; round++) {
    await send('DELETE', path)
    if (round > 0) {
      const isEmptied = async () => (await send('GET', widgets)).body.items?.length === 2
      // A wait for finalizers that went on from the last round would last for a minute.
      await eventually('it is emptied', isEmptied, 50_000)
    }
    await server.restore(before)
    const { body } = await send('GET', path)
    t.same(body.status, definition.status)
    t.same(body.metadata.finalizers, definition.metadata.finalizers)
    t.equal((await send('GET', widgets)).body.items.length, 30)
    t.equal((await send('POST', widgets, widgetOf('more'))).status, 201)
    await server.restore(before)
  }
  await new Promise((resolve) => setTimeout(resolve, 300))
  t.equal((await send('GET', widgets)).body.items.length, 30, 'nobody goes on deleting')
  t.same((await send('GET', path)).body.status, definition.status)
})

t.test('what a server says of itself is left alone, an Event lives anew', async (t) => {
  const clock = { now: () => now }
  let now = systemClock.now()
  const driver = await openStorage('memory:', { clock })
  t.teardown(() => driver.close())
  const server = await startServer(t, { storage: driver, clock, eventTtlMs: 100_000 })
  const send = caller(server)
  const events = '/api/v1/namespaces/default/events'
  const leases = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases'
  const { body: lease } = await send('GET', leases)
  const [{ metadata }] = lease.items
  const event = (name: string) => ({
    metadata: { name },
    involvedObject: { kind: 'Pod', namespace: 'default', name: 'p' },
  })
  await send('POST', events, event('back'))
  const before = await server.snapshot()
  await send('DELETE', `${events}/back`)
  await send('DELETE', `${leases}/${metadata.name}`)
  now += 90_000
  await server.restore(before)
  t.equal((await send('GET', leases)).body.items.length, 0)
  now += 90_000
  await send('POST', events, event('late'))
  t.equal((await send('GET', `${events}/back`)).status, 200)
  now += 20_000
  await eventually('its time is over', async () => {
    const { body } = await send('GET', events)
    return body.items.length === 1
  })
})

t.test('encrypted objects come back under the key of today', async (t) => {
  const driver = await openStorage('memory:', { clock: systemClock })
  t.teardown(() => driver.close())
  const configFile = join(temporaryDirectory(t), 'encryption')
  const encryptBy = (...names: string[]) => {
    const keys = names.map((name) => ({ name, secret: Buffer.alloc(32, name).toString('base64') }))
    const configuration = {
      apiVersion: 'apiserver.config.k8s.io/v1',
      kind: 'EncryptionConfiguration',
      resources: [{ resources: ['secrets'], providers: [{ aesgcm: { keys } }] }],
    }
    writeFileSync(`${configFile}.new`, JSON.stringify(configuration))
    renameSync(`${configFile}.new`, configFile)
  }
  encryptBy('one')
  const encryption = { configFile, automaticReload: true }
  const server = await startServer(t, { storage: driver, encryption })
  const send = caller(server)
  const secrets = '/api/v1/namespaces/default/secrets'
  const secret = (name: string, a: string) => ({ metadata: { name }, stringData: { a } })
  const data = async () => {
    const { body } = await send('GET', secrets)
    // biome-ignore lint/suspicious/noExplicitAny: objects as they come
    return body.items.map(({ metadata, data }: any) => [metadata.name, data.a])
  }
  for (const name of ['gone', 'same', 'changed']) await send('POST', secrets, secret(name, 'then'))
  const then = await data()
  const before = await server.snapshot()
  encryptBy('two', 'one')
  const keyOf = async (name: string) => {
    const { kv } = await driver.get(`/registry/secrets/default/${name}`)
    return /^k8s:enc:aesgcm:v1:(\w+):/.exec(kv!.value.toString('latin1'))?.[1]
  }
  await eventually('the new key is used', async () => {
    await send('PUT', `${secrets}/changed`, secret('changed', String(performance.now())))
    return (await keyOf('changed')) === 'two'
  })
  await send('DELETE', `${secrets}/gone`)
  t.match(await server.restore(before), { created: 1, updated: 1, deleted: 0 })
  t.same(await data(), then)
  t.same(await Promise.all(['gone', 'changed', 'same'].map(keyOf)), ['two', 'two', 'one'])
})

t.test('by name, over HTTP and from the command line', async (t) => {
  const dataDir = temporaryDirectory(t)
  const options = { dataDir, storage: `level:${join(dataDir, 'db')}` }
  const server = await startServer(t, { ...options, kubeconfigOut: join(dataDir, 'kubeconfig') })
  const send = caller(server)
  const path = '/kubelevel/snapshots'
  t.same((await send('GET', path)).body, { snapshots: [] })
  const { body: made } = await send('PUT', `${path}/clean`)
  t.match(made, { name: 'clean', objects: Number, revision: Number, bytes: Number })
  await send('POST', maps, { metadata: { name: 'a' } })
  t.match((await send('POST', `${path}/clean/restore`)).body, { created: 0, deleted: 1 })
  t.equal((await send('GET', `${maps}/a`)).status, 404)
  await send('POST', maps, { metadata: { name: 'b' } })
  t.ok((await send('PUT', `${path}/clean`)).body.revision > made.revision, 'taken anew')
  t.match((await send('POST', `${path}/clean/restore`)).body, {
    created: 0,
    updated: 0,
    deleted: 0,
  })

  const run = async (...args: string[]) => {
    const { code, out } = await runCommand(...args, '--data-dir', dataDir)
    return `${code} ${out}`
  }
  t.match(await run('reset'), /^1 kubelevel reset: snapshots "default" not found\n$/)
  t.match(await run('snapshot'), /^0 snapshot default: \d+ objects at revision \d+\n$/)
  await send('DELETE', `${maps}/b`)
  await send('POST', maps, { metadata: { name: 'c' } })
  t.match(await run('reset'), /^0 reset to default: 1 created, 0 updated, 1 deleted, at revision/)
  t.match(await run('snapshot', 'A'), /^1 kubelevel snapshot: .*name: Invalid value: "A"/)
  t.equal(await run('snapshot', 'a/b'), '1 kubelevel snapshot: 404 page not found\n')
  t.match(await run('snapshot', 'x', 'y'), /^2 .*unexpected argument/)
  const KUBECONFIG = [join(dataDir, 'none'), join(dataDir, 'kubeconfig')].join(delimiter)
  t.match(await runCommandIn({ KUBECONFIG }, 'snapshot'), { code: 0 }, 'the server of kubectl')
  const elsewhere = await runCommandIn({ KUBECONFIG }, 'snapshot', '--data-dir', `${dataDir}-not`)
  t.match(
    elsewhere,
    { code: 1, out: /there is no file .*kubeconfig: start a server/ },
    'but for a data dir that is named',
  )

  const names = async () =>
    (await send('GET', path)).body.snapshots.map(({ name }: { name: string }) => name)
  t.same(await names(), ['clean', 'default'])
  t.equal((await send('DELETE', `${path}/clean`)).status, 200)
  t.match((await send('DELETE', `${path}/clean`)).body, { code: 404, reason: 'NotFound' })
  t.match((await send('POST', `${path}/clean/restore`)).body, { code: 404, reason: 'NotFound' })
  for (let i = 0; i < 31; i++) t.equal((await send('PUT', `${path}/n${i}`)).status, 200)
  t.match((await send('PUT', `${path}/full`)).body, {
    code: 422,
    message: 'Snapshot "full" is invalid: snapshots: Too many: 33: must have at most 32 items',
  })
  t.equal((await send('PUT', `${path}/n1`)).status, 200, 'one that there is already')

  for (const [method, where] of [
    ['POST', path],
    ['DELETE', path],
    ['GET', `${path}/n1`],
    ['GET', `${path}/n1/restore`],
    ['GET', '/kubelevel'],
  ] as const)
    t.equal((await send(method, where)).text, '404 page not found\n', `${method} ${where}`)
  t.notMatch((await send('GET', '/')).text, 'kubelevel')
  const others = { method: 'POST', path: `${path}/n1/restore`, token: '' }
  t.match((await call(server, others)).body, { code: 403, reason: 'Forbidden' })
})

t.test('a snapshot of another server is refused', async (t) => {
  const [one, other] = await Promise.all([startServer(t), startServer(t)])
  await t.rejects(other.restore(await one.snapshot()), { message: /not taken of this server/ })
})
