import t from 'tap'
import { call, startServer } from './start-server.js'

t.test('a resize of a Pod is held to limit ranges and quotas', async (t) => {
  const server = await startServer(t, {
    storage: 'memory:',
    disableAdmissionPlugins: ['ServiceAccount'],
  })
  const at = (path: string): string => `/api/v1/namespaces/default/${path}`
  const send = (method: string, path: string, body: object) =>
    call(server, {
      method,
      path: at(path),
      body,
      ...(method === 'PATCH'
        ? { headers: { 'content-type': 'application/strategic-merge-patch+json' } }
        : {}),
    })
  const sized = (limits: object) => ({
    spec: { containers: [{ name: 'c', resources: { limits } }] },
  })
  const hard = { 'limits.cpu': '3' }
  await send('POST', 'resourcequotas', { metadata: { name: 'q' }, spec: { hard } })
  const status = { hard, used: { 'limits.cpu': '0' } }
  await send('PATCH', 'resourcequotas/q/status', { status })
  const limits = [{ type: 'Pod', max: { memory: '1Gi' } }]
  await send('POST', 'limitranges', { metadata: { name: 'l' }, spec: { limits } })

  // Its class of quality of service stays Burstable: one that changes is refused before admission is asked.
  const requests = { cpu: '1', memory: '512Mi' }
  const resources = { requests, limits: { cpu: '2', memory: '1Gi' } }
  const made = await send('POST', 'pods', {
    metadata: { name: 'p' },
    spec: { containers: [{ name: 'c', image: 'i', resources }] },
  })
  t.equal(made.status, 201, made.body.message)
  for (const view of ['resize', 'ephemeralcontainers'])
    t.match(
      (await send('PATCH', `pods/p/${view}`, { metadata: { uid: 'another' } })).body.message,
      'metadata.uid: Invalid value: "another": field is immutable',
      view,
    )
  const resize = (limits: object) => send('PATCH', 'pods/p/resize', sized(limits))
  t.match((await resize({ memory: '2Gi' })).body, {
    code: 403,
    message: 'pods "p" is forbidden: maximum memory usage per Pod is 1Gi, but limit is 2Gi',
  })
  t.match((await resize({ cpu: '4' })).body, {
    code: 403,
    message:
      'pods "p" is forbidden: exceeded quota: q, requested: limits.cpu=2, used: limits.cpu=2, limited: limits.cpu=3',
  })
  t.equal((await resize({ cpu: '3' })).status, 200)
  const quota = await call(server, { path: at('resourcequotas/q') })
  t.equal(quota.body.status.used['limits.cpu'], '3')
})

t.test('a Pod of which somebody wished a grace beyond all times is charged as any', async (t) => {
  const server = await startServer(t, {
    storage: 'memory:',
    disableAdmissionPlugins: ['ServiceAccount'],
  })
  const send = (method: string, path: string, body: object) =>
    call(server, {
      method,
      path: `/api/v1/${path}`,
      body,
      ...(method === 'PATCH' && {
        headers: { 'content-type': 'application/strategic-merge-patch+json' },
      }),
    })
  const inDefault = (path: string) => `namespaces/default/${path}`
  const capacity = { cpu: '4', memory: '8Gi', pods: '10' }
  await send('POST', 'nodes', { metadata: { name: 'n' }, status: { capacity } })
  const hard = { 'requests.cpu': '3' }
  await send('POST', inDefault('resourcequotas'), { metadata: { name: 'q' }, spec: { hard } })
  const status = { hard, used: { 'requests.cpu': '0' } }
  await send('PATCH', inDefault('resourcequotas/q/status'), { status })
  const asking = (cpu: string) => ({ name: 'c', image: 'i', resources: { requests: { cpu } } })
  await send('POST', inDefault('pods'), {
    metadata: { name: 'p' },
    spec: { nodeName: 'n', containers: [asking('1')] },
  })
  await send('DELETE', inDefault('pods/p'), { gracePeriodSeconds: 2 ** 53 })
  const resized = await send('PATCH', inDefault('pods/p/resize'), {
    spec: { containers: [asking('2')] },
  })
  t.equal(resized.status, 200, resized.body.message)
})

t.test(
  'limit ranges add no annotations in a resize, and a Pod as a whole takes what they fill in',
  async (t) => {
    const server = await startServer(t, {
      storage: 'memory:',
      disableAdmissionPlugins: ['ServiceAccount'],
    })
    const send = (method: string, path: string, body: object) =>
      call(server, {
        method,
        path: `/api/v1/namespaces/default/${path}`,
        body,
        ...(method === 'PATCH' && {
          headers: { 'content-type': 'application/strategic-merge-patch+json' },
        }),
      })
    const limits = [{ type: 'Container', default: { cpu: '1', memory: '1Gi' } }]
    await send('POST', 'limitranges', { metadata: { name: 'l' }, spec: { limits } })
    const podOf = (name: string, resources?: object) => ({
      metadata: { name },
      spec: { containers: [{ name: 'c', image: 'i' }], ...(resources && { resources }) },
    })
    const { body: made } = await send('POST', 'pods', podOf('p'))
    const { annotations } = made.metadata
    t.match(annotations, { 'kubernetes.io/limit-ranger': /cpu, memory limit/ })
    const without = { containers: [{ name: 'c', resources: { limits: { cpu: null } } }] }
    const { body: resized } = await send('PATCH', 'pods/p/resize', { spec: without })
    t.same(resized.metadata, made.metadata, 'nothing was written')

    const { body: whole } = await send('POST', 'pods', podOf('q', { limits: { cpu: '2' } }))
    t.same(whole.spec.resources, { limits: { cpu: '2' }, requests: { cpu: '2', memory: '1Gi' } })
  },
)

t.test('a Pod on a node is resized as far as the node can, and knows how to', async (t) => {
  const server = await startServer(t, {
    storage: 'memory:',
    disableAdmissionPlugins: ['ServiceAccount'],
  })
  const write = async (path: string, body: object) =>
    t.equal((await call(server, { method: 'POST', path, body })).status, 201, path)
  const allocatable = { cpu: '2', memory: '1Gi' }
  const declaredFeatures = [
    'InPlacePodLevelResourcesVerticalScaling',
    'InPlacePodVerticalScalingInitContainers',
  ]
  const nodes = {
    plain: { status: { allocatable } },
    able: { status: { allocatable, declaredFeatures } },
    windows: { labels: { 'kubernetes.io/os': 'windows' }, status: { allocatable } },
  }
  for (const [name, { status, ...more }] of Object.entries(nodes))
    await write('/api/v1/nodes', { metadata: { name, ...more }, status })
  const resources = { requests: { cpu: '1', memory: '1Gi' } }
  const gigabyte = '1073741824'
  const container = (name: string) => ({ name, image: 'i', resources })
  const pods = '/api/v1/namespaces/default/pods'
  for (const nodeName of ['', ...Object.keys(nodes), 'gone']) {
    const initContainers = [container('init')]
    const spec = { nodeName, initContainers, containers: [container('main')] }
    await write(pods, { metadata: { name: `on-${nodeName || 'none'}` }, spec })
  }
  const asked = (requests: object) => [{ name: 'main', resources: { requests } }]
  const init = (part: object) => ({ initContainers: [{ name: 'init', ...part }] })
  const largerInit = init({ resources: { requests: { cpu: '2' } } })
  const policy = [{ resourceName: 'cpu', restartPolicy: 'NotRequired' }]
  const short = (what: string) => `node didn't have enough allocatable resources: ${what}`
  const lacks = (feature: string) =>
    `pod update requires features ${feature} which are not available on node "plain"`
  const rows: [pod: string, spec: object, code: number, why: string][] = [
    ['on-none', { containers: asked({ cpu: '9' }) }, 200, ''],
    ['on-plain', { containers: asked({ cpu: '2' }) }, 200, ''],
    [
      'on-plain',
      { containers: asked({ cpu: '2500m', memory: '2Gi' }) },
      403,
      short(
        'cpu, requested: 2500, allocatable: 2000; memory, requested: 2147483648, allocatable: 1073741824',
      ),
    ],
    ['on-plain', largerInit, 403, lacks('InPlacePodVerticalScalingInitContainers')],
    ['on-plain', { resources }, 403, lacks('InPlacePodLevelResourcesVerticalScaling')],
    ['on-able', { ...largerInit, resources: { requests: { cpu: '2' } } }, 200, ''],
    [
      'on-able',
      init({ resources: { requests: { cpu: '3' } } }),
      403,
      short('cpu, requested: 3000, allocatable: 2000'),
    ],
    [
      'on-windows',
      { containers: asked({ cpu: '2' }) },
      403,
      'pod resize is only supported on linux nodes, node "windows" is "windows"',
    ],
    ['on-windows', {}, 200, ''],
    ['on-gone', { containers: asked({ cpu: '2' }) }, 403, 'node "gone" not found'],
    ['on-gone', { containers: asked({ memory: gigabyte }) }, 200, ''],
    ['on-plain', init({ resources: { requests: { memory: gigabyte } } }), 200, ''],
    [
      'on-plain',
      { containers: [{ name: 'main', resizePolicy: policy }] },
      422,
      'spec: Forbidden: only cpu and memory resources are mutable',
    ],
    [
      'on-plain',
      init({ resizePolicy: policy }),
      422,
      'spec.initContainers[0]: Forbidden: only cpu and memory resources for init or sidecar containers are mutable',
    ],
    [
      'on-plain',
      init({ resources: { requests: { cpu: null } } }),
      422,
      'spec.initContainers[0].resources.requests: Forbidden: resource requests cannot be removed',
    ],
  ]
  for (const [pod, spec, code, why] of rows) {
    const { status, body } = await call(server, {
      method: 'PATCH',
      path: `${pods}/${pod}/resize?dryRun=All`,
      body: { spec },
      headers: { 'content-type': 'application/strategic-merge-patch+json' },
    })
    const told =
      code === 403 ? `pods "${pod}" is forbidden: ${why}` : `Pod "${pod}" is invalid: ${why}`
    t.equal(status, code, `${pod}: ${why}`)
    if (code !== 200) t.equal(body.message, told)
    if (why.startsWith('node didn')) t.strictSame(body.details.causes, [{ reason: 'NodeCapacity' }])
  }
  const restarts = [{ resourceName: 'cpu', restartPolicy: 'RestartContainer' }]
  for (const [restartPolicy, code] of [
    ['Always', 201],
    ['Never', 422],
  ] as const) {
    const initContainers = [{ name: 'init', image: 'i', restartPolicy, resizePolicy: restarts }]
    const spec = { initContainers, containers: [container('main')] }
    const body = { metadata: { name: `init-${code}` }, spec }
    const made = await call(server, { method: 'POST', path: pods, body })
    t.equal(made.status, code)
    if (code === 422)
      t.match(made.body.details.causes, [
        {
          field: 'spec.initContainers[0].resizePolicy[0].restartPolicy',
          message:
            'Invalid value: "RestartContainer": must not be set to \'RestartContainer\' for non-sidecar initContainers',
        },
      ])
  }
})
