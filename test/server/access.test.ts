/** Who gets in, as whom, and to what. */
import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import http2 from 'node:http2'
import https from 'node:https'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { TLSSocket } from 'node:tls'
import t from 'tap'
import { der } from '#net/der.js'
import { issueCertificate, signCertificate, signerOf } from '#net/x509.js'
import { createServer } from '../create-server.js'
import { type Call, call, startServer } from './start-server.js'

const folder = mkdtempSync(path.join(tmpdir(), 'kubelevel-access-'))
t.teardown(() => rmSync(folder, { recursive: true, force: true }))

const day = 86_400_000
const now = Date.now()
const times = { notBeforeMs: now - day, notAfterMs: now + day }
const clientCa = issueCertificate({
  use: 'authority',
  subject: { commonName: 'clients' },
  ...times,
})
const otherCa = issueCertificate({ use: 'authority', subject: { commonName: 'clients' }, ...times })
const caFile = path.join(folder, 'ca.crt')
writeFileSync(caFile, clientCa.certPem)
const tokenFile = path.join(folder, 'tokens.csv')
writeFileSync(
  tokenFile,
  'alicetoken,alice,uid-1,"devs,ops"\nmastertoken,root,,system:masters\n# a comment\n\nbobtoken,bob,2\n',
)

const certificateOf = (issuer: typeof clientCa, name: string, ...organizations: string[]) => {
  const made = issueCertificate({
    use: 'client',
    subject: { commonName: name, organizations },
    issuer,
    ...times,
  })
  return { cert: made.certPem, key: made.keyPem }
}

const whoAmI = (credentials: Partial<Call>): Call => ({
  method: 'POST',
  path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
  body: { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' },
  ...credentials,
})

const server = await startServer(t, { clientCaFile: caFile, tokenAuthFile: tokenFile })

t.test('certificates and keys that are none are refused by the name of their file', async (t) => {
  const keyFile = path.join(folder, 'ca.key')
  writeFileSync(keyFile, clientCa.keyPem)
  const otherFile = path.join(folder, 'other.key')
  writeFileSync(otherFile, otherCa.keyPem)
  const damaged = path.join(folder, 'damaged.crt')
  writeFileSync(damaged, clientCa.certPem.replace('MII', 'MIX'))
  const pair = (tlsCertFile: string, tlsPrivateKeyFile: string) => ({
    tlsCertFile,
    tlsPrivateKeyFile,
  })
  const mistakes: [object, string][] = [
    [{ clientCaFile: tokenFile }, `${tokenFile} has no certificate in PEM`],
    [{ clientCaFile: damaged }, `${damaged}: `],
    [{ requestheaderClientCaFile: keyFile }, `${keyFile} has no certificate in PEM`],
    [
      { clientCaFile: caFile, requestheaderClientCaFile: caFile },
      '--requestheader-client-ca-file has a CA of users: give the names of proxies by --requestheader-allowed-names',
    ],
    [pair(tokenFile, keyFile), `${tokenFile} has no certificate in PEM`],
    [pair(caFile, tokenFile), `${tokenFile} has no private key in PEM`],
    [pair(caFile, otherFile), `${otherFile} is not the key of ${caFile}`],
  ]
  for (const [options, message] of mistakes)
    await t.rejects(createServer({ storage: 'memory:', port: 0, ...options }), { message })
})

t.test('tokens of the file and client certificates say who somebody is', async (t) => {
  const user = async (credentials: Partial<Call>) =>
    (await call(server, whoAmI(credentials))).body.status?.userInfo
  t.strictSame(await user({ token: 'alicetoken' }), {
    username: 'alice',
    uid: 'uid-1',
    groups: ['devs', 'ops', 'system:authenticated'],
  })
  t.match(await user({ token: '', ...certificateOf(clientCa, 'carol', 'a', 'b') }), {
    username: 'carol',
    groups: ['a', 'b', 'system:authenticated'],
  })
  t.match(
    await user({ token: 'bobtoken', ...certificateOf(clientCa, 'carol') }),
    { username: 'carol' },
    'the certificate comes first',
  )
})

t.test('a token of the file has a user with a uid, and is that of the last line', async (t) => {
  const file = path.join(folder, 'others.csv')
  const start = async (...lines: string[]) => {
    writeFileSync(file, lines.join('\n'))
    return startServer(t, { tokenAuthFile: file })
  }
  const open = await start('same,first,1', 'same,"last, but not least",2')
  t.match(await call(open, whoAmI({ token: 'same' })), {
    body: { status: { userInfo: { username: 'last, but not least', uid: '2' } } },
  })
  await t.rejects(start('token,"name, uid"'), {
    message: `token auth file ${file}, line 1: token, user name and user uid are needed`,
  })
})

t.test("a certificate may say its user's uid, and without a name speaks for nobody", async (t) => {
  const { oid, sequence, set, text } = der
  const certificateWith = (...names: [id: string, value: string][]) => {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const subject = sequence(...names.map(([id, value]) => set(sequence(oid(id), text(value)))))
    const spki = publicKey.export({ type: 'spki', format: 'der' })
    const signer = signerOf(clientCa.certPem, clientCa.privateKey)
    return {
      cert: signCertificate({ subject, publicKey: spki, ...times, extensions: [] }, signer),
      key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    }
  }
  const [commonName, uid] = ['2.5.4.3', '1.3.6.1.4.1.57683.2']
  const answerTo = async (...names: [id: string, value: string][]) =>
    (await call(server, whoAmI({ token: '', ...certificateWith(...names) }))).body
  t.match(await answerTo([commonName, 'carol'], [uid, 'c-1']), {
    status: { userInfo: { username: 'carol', uid: 'c-1' } },
  })
  t.match(await answerTo([commonName, 'carol'], [uid, 'c-1'], [uid, 'c-2']), { code: 401 })
  t.match(await answerTo([commonName, 'carol'], [uid, '']), { code: 401 })
  t.match(await answerTo([uid, 'c-1']), { code: 403, message: /"system:anonymous" cannot create/ })
})

t.test(
  'a certificate counts for whom its authority has signed, whatever else is sent with it',
  async (t) => {
    const authority = (commonName: string, issuer?: typeof clientCa) =>
      issueCertificate({ use: 'authority', subject: { commonName }, issuer, ...times })
    const proxyCa = authority('proxies')
    const proxyCaFile = path.join(folder, 'proxies.crt')
    writeFileSync(proxyCaFile, proxyCa.certPem)
    const open = await startServer(t, {
      clientCaFile: caFile,
      requestheaderClientCaFile: proxyCaFile,
      requestheaderAllowedNames: [],
    })
    const headers = { 'x-remote-user': 'root' }
    const user = async (sent: object) =>
      (await call(open, whoAmI({ token: '', headers, ...sent }))).body.status?.userInfo.username
    const behind = (
      { cert, key }: { cert: string; key: string },
      ...others: { certPem: string }[]
    ) => ({
      cert: [cert, ...others.map(({ certPem }) => certPem)].join(''),
      key,
    })
    const carol = certificateOf(clientCa, 'carol')
    const proxy = certificateOf(proxyCa, 'proxy')
    t.equal(await user(behind(carol, { certPem: proxy.cert })), 'carol')
    t.equal(await user(behind(proxy, { certPem: carol.cert })), 'root')
    const inner = authority('inner', clientCa)
    const innermost = authority('innermost', inner)
    const dave = certificateOf(innermost, 'dave')
    t.equal(await user(behind(dave, proxyCa, inner, { certPem: proxy.cert }, innermost)), 'dave')
  },
)

t.test(
  'a client that takes up an earlier session is known by what leads to its authority',
  async (t) => {
    const inner = issueCertificate({
      use: 'authority',
      subject: { commonName: 'inner' },
      issuer: clientCa,
      ...times,
    })
    const { cert, key } = certificateOf(inner, 'dave')
    const { isSessionReused } = TLSSocket.prototype
    const asked = t.capture(TLSSocket.prototype, 'isSessionReused', isSessionReused)
    // Shows the last session again on each new connection.
    const agent = new https.Agent()
    for (let times = 0; times < 3; times++)
      t.match(await call(server, whoAmI({ token: '', cert: cert + inner.certPem, key, agent })), {
        body: { status: { userInfo: { username: 'dave' } } },
      })
    t.ok(asked().some((call) => 'returned' in call && call.returned))
  },
)

t.test('the certificate of a connection is read once for all requests on it', async (t) => {
  const reads = t.capture(
    TLSSocket.prototype,
    'getPeerX509Certificate',
    TLSSocket.prototype.getPeerX509Certificate,
  )
  const shown = { ca: server.caPem, ...certificateOf(clientCa, 'carol') }
  const client = http2.connect(server.url, shown)
  t.teardown(() => client.close())
  const { method, path, body } = whoAmI({})
  const ask = async () => {
    const headers = { ':method': method, ':path': path, 'content-type': 'application/json' }
    return JSON.parse(await text(client.request(headers).end(JSON.stringify(body))))
  }
  for (let times = 0; times < 3; times++)
    t.match(await ask(), { status: { userInfo: { username: 'carol' } } })
  t.equal(reads().length, 1)
})

t.test('credentials that do not hold are 401 everywhere, none at all are anonymous', async (t) => {
  const status = async (c: Partial<Call>) => (await call(server, { path: '/healthz', ...c })).status
  t.equal(await status({ token: 'nobody' }), 401)
  t.equal(await status({ token: '', ...certificateOf(otherCa, 'mallory') }), 401)
  t.equal(await status({ token: '' }), 200)
  for (const authorization of ['Bearer ', 'Bearer', 'Basic YTpi', 'alicetoken', ''])
    t.equal(await status({ token: '', headers: { authorization } }), 200, authorization)
  const paths = { '/healthz': 200, '/livez': 200, '/readyz': 200, '/version': 200 }
  for (const [path, code] of Object.entries(paths))
    t.equal(await status({ token: '', path }), code, path)
  for (const path of ['/', '/api', '/apis', '/metrics', '/openapi/v2', '/api/v1/pods', '/nothing'])
    t.equal(await status({ token: '', path }), 403, path)
})

t.test('nobody is anonymous where everything is allowed', async (t) => {
  const open = await startServer(t, { authorizationModes: ['RBAC', 'AlwaysAllow'] })
  const status = async (token: string) => (await call(open, { path: '/api/v1/pods', token })).status
  t.equal(await status(''), 401)
  t.equal(await status(open.adminToken), 200)
})

t.test('a refusal says what was refused to whom, and where', async (t) => {
  const { body } = await call(server, {
    path: '/api/v1/namespaces/default/pods/a/log',
    token: 'alicetoken',
  })
  t.strictSame(body, {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message:
      'pods "a" is forbidden: User "alice" cannot get resource "pods/log" in API group "" in the namespace "default"',
    reason: 'Forbidden',
    details: { name: 'a', kind: 'pods' },
    code: 403,
  })
})

const rbac = '/apis/rbac.authorization.k8s.io/v1'
const create = (path: string, body: object) => call(server, { method: 'POST', path, body })

t.test('a role gives what it says, and its binding can take it away', async (t) => {
  const role = {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'Role',
    metadata: { name: 'reader' },
  }
  const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list'] }]
  await create(`${rbac}/namespaces/default/roles`, { ...role, rules })
  const binding = {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    metadata: { name: 'readers' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'reader' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'devs' }],
  }
  const bindings = `${rbac}/namespaces/default/rolebindings`
  t.equal((await create(bindings, binding)).status, 201)
  const list = async (namespace: string, token: string) =>
    (await call(server, { path: `/api/v1/namespaces/${namespace}/configmaps`, token })).status
  t.equal(await list('default', 'alicetoken'), 200)
  t.equal(await list('kube-system', 'alicetoken'), 403)
  t.equal(await list('default', 'bobtoken'), 403)
  const replace = (changed: object[]) =>
    call(server, {
      method: 'PUT',
      path: `${rbac}/namespaces/default/roles/reader`,
      body: { ...role, rules: changed },
    })
  await replace([])
  t.equal(await list('default', 'alicetoken'), 403, 'what was decided before is decided anew')
  await replace(rules)
  t.equal(await list('default', 'alicetoken'), 200)
  const escalation = await call(server, {
    method: 'POST',
    path: bindings,
    token: 'alicetoken',
    body: { ...binding, metadata: { name: 'more' } },
  })
  t.equal(escalation.status, 403)
  await call(server, { method: 'DELETE', path: `${bindings}/readers` })
  t.equal(await list('default', 'alicetoken'), 403)
})

t.test('a refusal and a review of rules tell of roles that are bound and not there', async (t) => {
  const apiGroup = 'rbac.authorization.k8s.io'
  for (const kind of ['ClusterRole', 'Role']) {
    const body = {
      metadata: { name: `to-no-${kind.toLowerCase()}` },
      roleRef: { apiGroup, kind, name: 'none' },
      subjects: [{ apiGroup, kind: 'User', name: 'carol' }],
    }
    t.equal((await create(`${rbac}/namespaces/default/rolebindings`, body)).status, 201)
  }
  const carol = { 'impersonate-user': 'carol' }
  const path = '/api/v1/namespaces/default/pods'
  const missing = ['clusterrole', 'role'].map((one) => `${one}.${apiGroup} "none" not found`)
  const problem = `[${missing.join(', ')}]`
  t.match((await call(server, { path, headers: carol })).body, {
    code: 403,
    message: `in the namespace "default": RBAC: ${problem}`,
  })
  const rules = await call(server, {
    method: 'POST',
    path: '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews',
    body: { spec: { namespace: 'default' } },
    headers: carol,
  })
  t.equal(rules.body.status.evaluationError, problem)
})

t.test('a review is answered as metadata alone if the client asks for that', async (t) => {
  const accept = (kind: string) => ({ accept: `application/json;as=${kind};v=v1;g=meta.k8s.io` })
  const partial = await call(server, whoAmI({ headers: accept('PartialObjectMetadata') }))
  t.match(partial, { status: 201, body: { kind: 'PartialObjectMetadata' } })
  t.notOk('status' in partial.body)
  t.equal(
    (await call(server, whoAmI({ headers: accept('PartialObjectMetadataList') }))).status,
    406,
  )
})

t.test(
  'a token bound to a Pod names the Node of the Pod, also one that is not there',
  async (t) => {
    const inDefault = '/api/v1/namespaces/default'
    await create(`${inDefault}/serviceaccounts`, { metadata: { name: 'runner' } })
    const containers = [{ name: 'c', image: 'c' }]
    const spec = { serviceAccountName: 'runner', nodeName: 'nowhere', containers }
    const pod = await create(`${inDefault}/pods`, { metadata: { name: 'placed' }, spec })
    const made = await create(`${inDefault}/serviceaccounts/runner/token`, {
      spec: { boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: 'placed' } },
    })
    const me = await call(server, whoAmI({ token: made.body.status.token }))
    const { extra } = me.body.status.userInfo
    t.strictSame(
      Object.fromEntries(Object.entries(extra).filter(([name]) => /\/(node|pod)-/.test(name))),
      {
        'authentication.kubernetes.io/node-name': ['nowhere'],
        'authentication.kubernetes.io/pod-name': ['placed'],
        'authentication.kubernetes.io/pod-uid': [pod.body.metadata.uid],
      },
    )
  },
)

t.test('a ServiceAccount token works until ten seconds after its account is gone', async (t) => {
  let laterMs = 0
  const server = await startServer(t, { clock: { now: () => now + laterMs } })
  const post = (path: string, body: object) => call(server, { method: 'POST', path, body })
  const accounts = '/api/v1/namespaces/default/serviceaccounts'
  await post(accounts, { metadata: { name: 'bot' } })
  const { token } = (await post(`${accounts}/bot/token`, { spec: {} })).body.status
  const other = (await post(`${accounts}/bot/token`, { spec: {} })).body.status.token
  const me = await call(server, whoAmI({ token }))
  t.equal(me.body.status.userInfo.username, 'system:serviceaccount:default:bot')
  const tampered = `${token.slice(0, -4)}AAAA`
  t.equal((await call(server, whoAmI({ token: tampered }))).status, 401)
  await call(server, { method: 'DELETE', path: `${accounts}/bot` })
  t.equal((await call(server, whoAmI({ token: other }))).status, 401, 'nobody knew it yet')
  laterMs = 9_999
  t.equal((await call(server, whoAmI({ token }))).status, 201)
  const review = { spec: { token } }
  const path = '/apis/authentication.k8s.io/v1/tokenreviews'
  t.equal((await post(path, review)).body.status.authenticated, true, 'a review says so, too')
  laterMs = 10_000
  t.equal((await call(server, whoAmI({ token }))).status, 401, 'uses do not prolong it')
  t.notOk((await post(path, review)).body.status.authenticated)
  const counted = (await call(server, { path: '/metrics' })).text
    .split('\n')
    .filter((line) => /^authentication_token_cache_(request|fetch)_total/.test(line))
  t.same(counted, [
    'authentication_token_cache_fetch_total{status="ok"} 1',
    'authentication_token_cache_fetch_total{status="error"} 4',
    'authentication_token_cache_request_total{status="miss"} 5',
    'authentication_token_cache_request_total{status="hit"} 2',
  ])
})

t.test('masters may be anybody, others only whom they may impersonate', async (t) => {
  const as = (token: string, headers: Record<string, string>) =>
    call(server, whoAmI({ token, headers }))
  const eve = await as('mastertoken', {
    'impersonate-user': 'eve',
    'impersonate-uid': 'u',
    'impersonate-extra-team': 'x',
  })
  t.strictSame(eve.body.status.userInfo, {
    username: 'eve',
    uid: 'u',
    groups: ['system:authenticated'],
    extra: { team: ['x'] },
  })
  t.equal((await as('alicetoken', { 'impersonate-user': 'eve' })).status, 403)
  t.match((await as('mastertoken', { 'impersonate-group': 'x\u00a0' })).body, {
    code: 400,
    message: 'Groups:[]string{"x\\u00a0"}, Extra:map[string][]string(nil)}',
  })
})

t.test('a decision names the binding that made it, and for whom, as Go quotes names', async (t) => {
  const apiGroup = 'rbac.authorization.k8s.io'
  const name = 'odd\u00a0one'
  const body = {
    metadata: { name: 'b' },
    roleRef: { apiGroup, kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ apiGroup, kind: 'User', name }],
  }
  t.equal((await create(`${rbac}/clusterrolebindings`, body)).status, 201)
  const resourceAttributes = { verb: 'get', resource: 'pods', namespace: 'default' }
  const review = await call(server, {
    method: 'POST',
    path: '/apis/authorization.k8s.io/v1/subjectaccessreviews',
    body: { spec: { user: name, resourceAttributes } },
  })
  t.strictSame(review.body.status, {
    allowed: true,
    reason:
      'RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "cluster-admin" to User "odd\\u00a0one"',
  })
})

t.test('readers beyond the limit are sent away with a hint when to come back', async (t) => {
  const small = await startServer(t, { maxRequestsInFlight: 1, tokenAuthFile: tokenFile })
  const many = Array.from({ length: 40 }, () =>
    call(small, { path: '/healthz', token: 'bobtoken' }),
  )
  const answers = await Promise.all(many)
  const refused = answers.filter(({ status }) => status === 429)
  for (const answer of refused) {
    t.equal(answer.headers['retry-after'], '1')
    t.equal(answer.text, 'Too many requests, please try again later.\n')
  }
  t.ok(answers.some(({ status }) => status === 200))
})

t.test("each request of a front proxy's connection is whose its headers say", async (t) => {
  // One authority for both: the proxy is a client of its own name, too.
  const trusting = await startServer(t, {
    clientCaFile: caFile,
    requestheaderClientCaFile: caFile,
    requestheaderAllowedNames: ['front-proxy-client'],
  })
  const { hostname, port } = new URL(trusting.url)
  const { path: reviews, body } = whoAmI({})
  const agent = new https.Agent({
    keepAlive: true,
    maxSockets: 1,
    ca: trusting.caPem,
    ...certificateOf(clientCa, 'front-proxy-client'),
  })
  t.teardown(() => agent.destroy())
  let connections = 0
  const nameOf = (headers: Record<string, string>): Promise<string | undefined> =>
    new Promise((resolve, reject) => {
      const options = { hostname, port, path: reviews, method: 'POST', agent }
      const request = https.request(
        { ...options, headers: { 'content-type': 'application/json', ...headers } },
        async (response) => {
          const parts = await response.toArray()
          resolve(JSON.parse(parts.join('')).status?.userInfo?.username)
        },
      )
      if (!request.reusedSocket)
        request.once('socket', (s) => s.once('secureConnect', () => connections++))
      request.on('error', reject)
      request.end(JSON.stringify(body))
    })
  t.equal(await nameOf({}), 'front-proxy-client')
  t.equal(await nameOf({ 'x-remote-user': 'alice' }), 'alice')
  t.equal(await nameOf({ 'x-remote-user': 'bob' }), 'bob')
  t.equal(await nameOf({}), 'front-proxy-client')
  t.equal(connections, 1, 'on one connection')
})

t.test(
  'a session that GET opens takes the right to create it, and a proxied GET does not',
  async (t) => {
    const rbac = '/apis/rbac.authorization.k8s.io/v1/namespaces/default'
    const apiGroup = 'rbac.authorization.k8s.io'
    const resources = ['exec', 'attach', 'portforward', 'proxy'].map((one) => `pods/${one}`)
    const grant = async (user: string, verbs: string[]) => {
      const metadata = { name: `sessions-of-${user}` }
      const rules = [{ apiGroups: [''], resources, verbs }]
      await call(server, { method: 'POST', path: `${rbac}/roles`, body: { metadata, rules } })
      const roleRef = { apiGroup, kind: 'Role', ...metadata }
      const subjects = [{ apiGroup, kind: 'User', name: user }]
      const body = { metadata, roleRef, subjects }
      t.equal(
        (await call(server, { method: 'POST', path: `${rbac}/rolebindings`, body })).status,
        201,
      )
    }
    await grant('getter', ['get'])
    await grant('creator', ['get', 'create'])
    const ask = async (user: string, path: string) => {
      const headers = { 'impersonate-user': user }
      const answer = await call(server, {
        path: `/api/v1/namespaces/default/pods/none/${path}`,
        headers,
      })
      return answer.body
    }
    for (const path of ['exec?command=ls', 'attach', 'portforward']) {
      const message = 'pods "none" is forbidden: '
      t.match(await ask('getter', path), { code: 403, message, details: { kind: 'pods' } })
      t.match(await ask('creator', path), { code: 404, message: 'pods "none" not found' })
    }
    t.match(await ask('getter', 'proxy'), { code: 404 })
  },
)
