/** Which built-in APIs are served, and feature gates: outcomes and texts are those of kube-apiserver v1.36.3. */
import t from 'tap'
import { serveFlags, serverOptionsOf } from '#commands/serve-flags.js'
import { parseFlags } from '#program/flags.js'
import { parseFeatureGates } from '#server/feature-gates.js'
import type { Server } from '#src/index.js'
import { createServer } from '../create-server.js'
import { call, startServer } from './start-server.js'

const namesOf = (body: { resources: { name: string }[] }): string[] =>
  body.resources.map(({ name }) => name)

const apiServicesOf = async (server: Server): Promise<string[]> => {
  const { body } = await call(server, { path: '/apis/apiregistration.k8s.io/v1/apiservices' })
  return body.items.map((item: { metadata: { name: string } }) => item.metadata.name)
}

t.test('what is not served is nowhere, and still there when it is served again', async (t) => {
  const storage = `level:${t.testdir()}/db`
  const before = await createServer({ storage, logLevel: 'silent' })
  const jobs = '/apis/batch/v1/namespaces/default/jobs'
  const template = {
    spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] },
  }
  const body = { metadata: { name: 'kept' }, spec: { template } }
  t.equal((await call(before, { method: 'POST', path: jobs, body })).status, 201)
  t.ok((await apiServicesOf(before)).includes('v1.discovery.k8s.io'))
  await before.close()

  const runtimeConfig = {
    'batch/v1/jobs': 'false',
    'autoscaling/v1': 'false',
    'discovery.k8s.io/v1': '0',
  }
  const without = await createServer({ storage, runtimeConfig, logLevel: 'silent' })
  const get = async (path: string) => (await call(without, { path })).body
  t.same(namesOf(await get('/apis/batch/v1')), ['cronjobs', 'cronjobs/status'])
  t.match(await get('/apis/batch/v1/jobs'), {
    kind: 'Status',
    message: 'the server could not find the requested resource',
    details: {},
    code: 404,
  })
  t.match(await get('/apis/autoscaling'), { preferredVersion: { version: 'v2' } })
  t.equal((await get('/apis/autoscaling')).versions.length, 1)
  t.equal(await get('/apis/discovery.k8s.io'), '404 page not found\n')
  t.equal(await get('/apis/discovery.k8s.io/v1/endpointslices'), '404 page not found\n')
  const services = await apiServicesOf(without)
  for (const gone of ['v1.autoscaling', 'v1.discovery.k8s.io'])
    t.notOk(services.includes(gone), gone)
  for (const there of ['v1.batch', 'v2.autoscaling']) t.ok(services.includes(there), there)
  const { paths } = await get('/openapi/v3')
  t.notOk(paths['apis/autoscaling/v1'])
  t.ok(paths['apis/autoscaling/v2'])
  const swagger = Object.keys((await get('/openapi/v2')).paths)
  t.same(
    swagger.filter((path) => /^\/apis\/(autoscaling\/v1|discovery)|\/batch\/v1\/jobs/.test(path)),
    [],
  )
  t.ok((await get('/')).paths.includes('/apis/batch/v1'))
  t.notOk((await get('/')).paths.includes('/apis/discovery.k8s.io'))
  await without.close()

  const after = await startServer(t, { storage })
  t.equal((await call(after, { path: `${jobs}/kept` })).status, 200)
  t.ok((await apiServicesOf(after)).includes('v1.discovery.k8s.io'))
})

t.test('a resource counts before its version, and a version before its form', async (t) => {
  const server = await startServer(t, {
    runtimeConfig: {
      'api/ga': 'false',
      'flowcontrol.apiserver.k8s.io/v1': 'true',
      v1: 'true',
      'apps/v1': 'false',
      'apps/v1/deployments': 'true',
      'apiregistration.k8s.io/v1': '',
      'api/legacy': 'true',
    },
  })
  const { body } = await call(server, { path: '/apis' })
  const groups = body.groups.map(({ name }: { name: string }) => name)
  t.same(groups.sort(), ['apiregistration.k8s.io', 'apps', 'flowcontrol.apiserver.k8s.io'])
  const apps = (await call(server, { path: '/apis/apps/v1' })).body
  t.same(namesOf(apps), ['deployments', 'deployments/scale', 'deployments/status'])
  t.equal((await call(server, { path: '/api/v1/namespaces/default' })).status, 200)
})

t.test('what --runtime-config cannot be', async (t) => {
  const refusals: [Record<string, string>, string][] = [
    [{ 'foo/v1': 'true' }, 'unknown api groups foo/v1'],
    [
      { 'apps/v1': 'maybe' },
      'invalid value of apps/v1: maybe, err: strconv.ParseBool: parsing "maybe": invalid syntax',
    ],
    [{ 'apps/v9': 'true' }, 'group version apps/v9 that has not been registered'],
    [{ 'api/beta': 'maybe' }, 'invalid value api/beta=maybe'],
    [{ apps: 'true' }, 'runtime-config invalid key apps'],
    [
      { 'apps/v1/Deployments': 'false' },
      'invalid key apps/v1/Deployments: group/version/resource and resource is always lowercase plural, not "Deployments"',
    ],
    [
      { 'api/all': 'false' },
      '[--runtime-config=api/all=false conflicts with --enable-priority-and-fairness=true, invalid runtime-config with only api/all=false]',
    ],
  ]
  await t.rejects(
    createServer({ runtimeConfig: { 'api/all': 'false' }, priorityAndFairness: false }),
    { message: 'invalid runtime-config with only api/all=false' },
    'flow control needs its API where it is on',
  )
  for (const [runtimeConfig, message] of refusals)
    await t.rejects(createServer({ runtimeConfig }), { message }, message)
})

t.test('what --feature-gates cannot be', async (t) => {
  const refusals: [string, string][] = [
    ['Nope=true', 'unrecognized feature gate: Nope'],
    [
      'PodLevelResources=maybe',
      'invalid value of PodLevelResources=maybe, err: strconv.ParseBool: parsing "maybe": invalid syntax',
    ],
    ['PodLevelResources', 'missing bool value for PodLevelResources'],
    ['kube:NodeSwap=false', 'cannot set feature gate NodeSwap to false, feature is locked to true'],
    ['wardle:Foo=true', 'component not registered: wardle'],
    [
      'PodLevelResources=true,kube:EnvFiles=true',
      'set kube feature gates with default empty prefix or kube: prefix consistently, do not mix use',
    ],
  ]
  for (const [text, message] of refusals)
    await t.rejects(
      async () => createServer({ featureGates: parseFeatureGates(text.split(',')) }),
      { message },
      message,
    )
})

t.test('gates are told, and those that are switched here are', async (t) => {
  const server = await startServer(t, {
    featureGates: parseFeatureGates([
      'kube:APIServerIdentity=false',
      'kube:ComponentFlagz=f',
      'kube:EnvFiles=false',
    ]),
  })
  const { text } = await call(server, { path: '/metrics' })
  const gate = (name: string) =>
    new RegExp(`^kubernetes_feature_enabled\\{name="${name}",stage="(\\w*)"\\} (\\d)$`, 'm')
      .exec(text)
      ?.slice(1)
  t.same(gate('APIServerIdentity'), ['BETA', '0'])
  t.same(gate('ComponentStatusz'), ['BETA', '1'])
  t.same(gate('NodeSwap'), ['', '1'])
  t.same(gate('AllAlpha'), ['ALPHA', '0'])
  t.same(gate('EnvFiles'), ['BETA', '1'], 'what changes nothing here is told as it is')
  t.equal((await call(server, { path: '/flagz' })).status, 404)
  t.equal((await call(server, { path: '/statusz' })).status, 200)
  const leases = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases'
  const { body } = await call(server, { path: leases })
  t.same(body.items, [])
})

t.test('the version that is told can be another build of the same', async (t) => {
  const { gitVersion, flags } = serverOptionsOf(
    parseFlags(['--version=v1.36.3-custom+2'], serveFlags),
  )
  const server = await startServer(t, { gitVersion, flags })
  t.equal((await call(server, { path: '/version' })).body.gitVersion, 'v1.36.3-custom+2')
  t.match((await call(server, { path: '/metrics' })).text, /git_version="v1\.36\.3-custom\+2"/)
  t.match((await call(server, { path: '/statusz' })).text, /\nBinary version\W+1\.36\.3\n/)
  t.match((await call(server, { path: '/flagz' })).text, /\nversion\W+v1\.36\.3-custom\+2\n/)
})

t.test('a metric that is disabled is not told', async (t) => {
  const server = await startServer(t, { disabledMetrics: ['kubernetes_build_info', 'nope'] })
  const { text } = await call(server, { path: '/metrics' })
  t.notMatch(text, /kubernetes_build_info/)
  t.match(text, /kubernetes_feature_enabled/)
})

t.test('all of a stage are switched at once, but those that are named', async (t) => {
  const server = await startServer(t, {
    featureGates: { AllBeta: false, ComponentStatusz: true },
  })
  t.equal((await call(server, { path: '/flagz' })).status, 404)
  t.equal((await call(server, { path: '/statusz' })).status, 200)
})
