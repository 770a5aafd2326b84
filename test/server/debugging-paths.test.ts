/** What serves people, probes and scrapers: /statusz, /flagz, /metrics, /metrics/slis, OpenAPI documents and the names of health checks. */
import { gunzipSync } from 'node:zlib'
import t from 'tap'
import { serveFlags, serverOptionsOf } from '#commands/serve-flags.js'
import { parseFlags } from '#program/flags.js'
import { PostStartHooks } from '#server/post-start-hooks.js'
import { call, startServer } from './start-server.js'

t.test('/statusz and /flagz have a form for people and two for programs', async (t) => {
  const { flags } = serverOptionsOf(
    parseFlags(['--authorization-mode=RBAC,AlwaysDeny'], serveFlags),
  )
  const server = await startServer(t, { flags })
  const as = (kind: string, version: string) => `;v=${version};g=config.k8s.io;as=${kind}`
  const text = 'text/plain; charset=utf-8'
  const json = 'application/json'
  const rows: [path: string, accept: string, status: number, type: string, body: RegExp][] = [
    ['/statusz', '*/*', 200, text, /^\napiserver statusz\n.*\n\nStarted\W+\w{3} \w{3} [ \d]\d /],
    ['/statusz', 'text/*', 200, text, /\nUp\W+0 hr 0\d min \d\d sec\nGo version/],
    ['/statusz', `${json}, */*`, 200, text, /\nPaths\W+\/flagz \/healthz /],
    ['/statusz', json, 406, json, /: application\/json, application\/yaml, text\/plain"/],
    ['/statusz', `text/plain${as('Statusz', 'v1beta1')}`, 406, json, /only the following/],
    ['/statusz', json + as('Flagz', 'v1beta1'), 406, json, /only the following/],
    ['/statusz', json + as('Statusz', 'v1'), 406, json, /only the following/],
    [
      '/statusz',
      json + as('Statusz', 'v1beta1'),
      200,
      `${json};g=config.k8s.io;v=v1beta1;as=Statusz`,
      /^\{"kind":"Statusz",.*"binaryVersion":"1.36.3","emulationVersion":"1.36"/,
    ],
    [
      '/flagz',
      `application/yaml${as('Flagz', 'v1alpha1')}`,
      200,
      'application/yaml;g=config.k8s.io;v=v1alpha1;as=Flagz',
      /\nflags:\n {2}admission-control-config-file: ""\n {2}advertise-address: ""\n {2}anonymous-auth: "true"\n[\s\S]*authorization-mode: '\[RBAC,AlwaysDeny\]'\n/,
    ],
    ['/flagz', '', 200, text, /\nauthorization-mode\W+RBAC,AlwaysDeny\]\n/],
  ]
  for (const [path, accept, status, type, body] of rows) {
    const answer = await call(server, { path, headers: accept === '' ? {} : { accept } })
    t.match(answer, { status, headers: { 'content-type': type } }, `${path} ${accept}`)
    t.match(answer.text, body, `${path} ${accept}`)
    t.equal(answer.headers.warning !== undefined, accept.includes('v1alpha1'))
  }
})

t.test(
  'metrics are packed for who takes it, tell of health checks, and can be reset',
  async (t) => {
    const server = await startServer(t)
    const read = async (path: string) => {
      const answer = await call(server, { path, headers: { 'accept-encoding': 'gzip' } })
      t.equal(answer.headers['content-encoding'], 'gzip')
      return gunzipSync(answer.bytes).toString()
    }
    await call(server, { path: '/readyz' })
    await call(server, { path: '/readyz' })
    await call(server, { path: '/livez/etcd' })
    const before = await read('/metrics/slis')
    t.match(
      before,
      'kubernetes_healthcheck{name="poststarthook/bootstrap-controller",type="readyz"} 1',
    )
    t.match(
      before,
      'kubernetes_healthchecks_total{name="etcd",status="success",type="readyz"} 2\nkubernetes_healthchecks_total{name="etcd-readiness"',
    )
    t.notMatch(before, 'type="livez"', 'a check that is asked for alone is not counted')
    await call(server, { path: '/api/v1/namespaces/default/configmaps' })
    await call(server, { path: '/api/v1/namespaces/default/endpoints/none' })
    t.match(await read('/metrics'), 'resource="configmaps"')
    t.match(
      await read('/metrics'),
      '\napiserver_requested_deprecated_apis{group="",removed_release="",resource="endpoints",subresource="",version="v1"} 1\n',
    )
    t.match(
      await read('/metrics'),
      '\napiserver_resource_objects{group="",resource="namespaces"} 4\n',
    )
    t.match(
      await read('/metrics'),
      '\napiserver_storage_objects{resource="leases.coordination.k8s.io"} ',
    )
    t.match(
      await read('/metrics'),
      /\napiserver_resource_size_estimate_bytes\{group="",resource="namespaces"\} [1-9]\d+\n/,
    )
    t.match(
      await read('/metrics'),
      /\nworkqueue_adds_total\{name="RemoteAvailabilityController"\} \d/,
    )
    for (const path of ['/metrics', '/metrics/slis'])
      t.equal((await call(server, { method: 'DELETE', path })).text, 'metrics reset\n')
    t.notMatch(await read('/metrics'), /apiserver_request_total\{[^}]*resource="configmaps"/)
    t.notMatch(await read('/metrics/slis'), 'type="readyz"')
    const typeFor = async (accept: string) =>
      (await call(server, { path: '/metrics', headers: { accept } })).headers['content-type']
    t.match(await typeFor('*/*'), /; escaping=underscores$/)
    t.match(
      await typeFor('text/plain;version=1.0.0;escaping=allow-utf-8'),
      /; escaping=allow-utf-8$/,
    )
    t.match(await typeFor('text/plain, text/plain;escaping=dots'), /; escaping=underscores$/)
  },
)

t.test(
  'an OpenAPI document is sent unless it has not changed, or is not the one that is wanted',
  async (t) => {
    const server = await startServer(t)
    const path = '/openapi/v3/apis/apps/v1'
    const { headers } = await call(server, { path })
    const modified = String(headers['last-modified'])
    const before = new Date(Date.parse(modified) - 1000).toUTCString()
    const rows: [headers: Record<string, string>, status: number][] = [
      [{ 'if-modified-since': modified }, 304],
      [{ 'if-modified-since': before }, 200],
      [{ 'if-modified-since': 'yesterday' }, 200],
      [{ 'if-modified-since': modified, 'if-none-match': '"another"' }, 200],
      [{ 'if-modified-since': before, 'if-none-match': String(headers.etag) }, 304],
      [{ 'if-none-match': `W/${headers.etag}` }, 304],
      [{ 'if-none-match': `no tag, ${headers.etag}` }, 200],
      [{ 'if-match': `"another", ${headers.etag}` }, 200],
      [{ 'if-match': `W/${headers.etag}`, 'if-none-match': String(headers.etag) }, 412],
      [{ 'if-unmodified-since': before, range: 'bytes=0-1' }, 412],
      [{ 'if-match': '*', 'if-unmodified-since': before }, 200],
    ]
    for (const [asked, status] of rows)
      t.equal((await call(server, { path, headers: asked })).status, status, JSON.stringify(asked))
  },
)

t.test('an OpenAPI document that is asked for under its hash is kept for a year', async (t) => {
  const server = await startServer(t)
  const path = '/openapi/v3/apis/apps/v1'
  const { headers: plain } = await call(server, { path })
  t.equal(plain.expires, undefined)
  const moved = await call(server, { path: `${path}?hash=FORMER` })
  t.equal(moved.status, 301)
  t.equal(moved.headers.etag, plain.etag)
  const { headers } = await call(server, { path: String(moved.headers.location) })
  t.equal(headers['cache-control'], 'public, immutable')
  const expires = new Date(String(headers.expires))
  t.match(headers.expires, / UTC$/)
  t.equal(expires.getUTCFullYear(), new Date(String(headers.date)).getUTCFullYear() + 1)
})

t.test('a hook after the start is a check that fails until it has run', async (t) => {
  const hooks = new PostStartHooks()
  hooks.finish('rbac/bootstrap-roles')
  const failing = hooks.checks.filter(({ check }) => check() === 'not finished')
  t.equal(failing.length, hooks.checks.length - 1)
  const server = await startServer(t)
  const { text } = await call(server, { path: '/readyz?verbose' })
  t.match(text, '[+]poststarthook/rbac/bootstrap-roles ok\n[+]poststarthook/scheduling/')
  t.equal((await call(server, { path: '/livez/poststarthook/rbac/bootstrap-roles' })).text, 'ok')
  t.equal((await call(server, { path: '/livez/poststarthook' })).status, 404)
  t.match(text, '[+]informer-sync ok\n[+]poststarthook/start-apiserver-admission-initializer ok')
  t.match(text, '[+]autoregister-completion ok\n', 'a check among the hooks that is none')
  t.equal(text.match(/^\[\+\]/gm)?.length, text.split('\n').length - 2, 'none fails')
})

t.test('no group of /apis is without a name', async (t) => {
  const server = await startServer(t)
  for (const path of ['/apis//', '/apis//apps/v1', '/apis/%2f?x=1', '//api/v1/pods/p'])
    t.equal((await call(server, { path })).text, '404 page not found\n', path)
  for (const path of ['/apis/', '/api//', '/apis/apps//'])
    t.equal((await call(server, { path })).status, 200, path)
})
