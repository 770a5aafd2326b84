/** Who may ask a kubelet what: statuses and texts as kubelet 1.36 answers with webhook authentication and authorization. */
import { X509Certificate } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import https from 'node:https'
import path from 'node:path'
import t from 'tap'
import WebSocket from 'ws'
import { systemClock } from '#api/clock.js'
import { resources } from '#client/resources.js'
import { loadCredentials } from '#server/credentials/credentials.js'
import { script, startNode, type TestNode } from './node.js'

interface Answer {
  readonly code: number
  readonly text: string
}

const kubeletOf = async (node: TestNode): Promise<string> => {
  const { status } = await node.client.get(resources.nodes, { name: 'node-1' })
  return `${status.addresses[0].address}:${status.daemonEndpoints.kubeletEndpoint.Port}`
}

const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })

/** The token of a new ServiceAccount that may do this with Nodes, or nothing at all. */
const accountWith = async (node: TestNode, name: string, rights: string[]): Promise<string> => {
  const { client } = node
  const namespace = 'default'
  await client.create(resources.serviceAccounts, { metadata: { name, namespace } })
  const rule = { apiGroups: [''], resources: rights, verbs: ['get'] }
  await client.create(resources.clusterRoles, { metadata: { name }, rules: [rule] })
  const kind = 'ClusterRoleBinding'
  const bindings = { ...resources.clusterRoles, resource: 'clusterrolebindings', kind }
  await client.create(bindings, {
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
    subjects: [{ kind: 'ServiceAccount', name, namespace }],
  })
  const { status } = await client.create(
    resources.serviceAccounts,
    {
      metadata: { name, namespace },
      kind: 'TokenRequest',
      apiVersion: 'authentication.k8s.io/v1',
      spec: {},
    },
    { name, subresource: 'token' },
  )
  return status.token
}

t.test('a kubelet asks the API server who a client is and what it may do', async (t) => {
  const node = await startNode(t, { kubelet: 'process' })
  await node.startProcess([], ['--eviction-hard', 'memory.available<1Mi,nodefs.available<0.1%'])
  await node.run('p', script('while :; do sleep 0.05; done'))
  await node.ready('p')
  const kubelet = await kubeletOf(node)
  const ask = (page: string, options: https.RequestOptions = {}) =>
    new Promise<Answer>((resolve, reject) => {
      https
        .request(
          `https://${kubelet}/${page}`,
          { rejectUnauthorized: false, ...options },
          (answer) => {
            let text = ''
            answer.on('data', (chunk) => (text += chunk))
            answer.on('end', () => resolve({ code: answer.statusCode!, text }))
          },
        )
        .on('error', reject)
        .end()
    })
  t.same(await ask('healthz'), { code: 401, text: 'Unauthorized' }, 'nobody is anonymous')
  t.same(await ask('healthz', bearer('none')), { code: 401, text: 'Unauthorized' })
  const { cert, key, token } = node.client.config
  t.same(await ask('healthz', cert ? { cert, key } : bearer(token!)), { code: 200, text: 'ok' })

  const stats = await accountWith(node, 'stats', ['nodes/stats'])
  const name = 'system:serviceaccount:default:stats'
  t.equal((await ask('stats/summary', bearer(stats))).code, 200)
  t.equal((await ask('%73tats/summary', bearer(stats))).code, 200, 'however it is written')
  t.equal((await ask('%', bearer(stats))).code, 400)
  t.same(await ask('metrics/resource', bearer(stats)), {
    code: 403,
    text: `Forbidden (user=${name}, verb=get, resource=nodes, subresource(s)=[metrics])\n`,
  })
  t.same(await ask('pods', bearer(stats)), {
    code: 403,
    text: `Forbidden (user=${name}, verb=get, resource=nodes, subresource(s)=[pods proxy])\n`,
  })
  t.same(await ask('stats/summary', { method: 'POST', ...bearer(stats) }), {
    code: 403,
    text: `Forbidden (user=${name}, verb=create, resource=nodes, subresource(s)=[stats])\n`,
  })
  const pods = await accountWith(node, 'pods', ['nodes/pods'])
  t.equal((await ask('pods', bearer(pods))).code, 200)
  t.equal((await ask('healthz', bearer(pods))).code, 403)
  const proxy = await accountWith(node, 'proxy', ['nodes/proxy'])
  for (const page of ['pods', 'healthz', 'containerLogs/default/p/main'])
    t.equal((await ask(page, bearer(proxy))).code, 200, page)
  for (const page of ['metrics', 'statusz'])
    t.equal((await ask(page, bearer(proxy))).code, 403, 'which is no part of it')
  const pages = await accountWith(node, 'pages', ['nodes/statusz', 'nodes/configz'])
  t.match(await ask('statusz?a', bearer(pages)), {
    code: 200,
    text: /^\nkubelet statusz\n.*\n\nStarted[\s\S]*\nPaths\W+\/configz \/flagz \/healthz \/metrics\n$/,
  })
  t.match(await ask('flagz', bearer(pages)), { code: 200, text: /\nnode-name: node-1\n/ })
  const { kubeletconfig } = JSON.parse((await ask('configz', bearer(pages))).text)
  t.match(kubeletconfig, {
    kind: 'KubeletConfiguration',
    port: Number(kubelet.split(':')[1]),
    authentication: { webhook: { cacheTTL: '2m0s' }, anonymous: { enabled: false } },
    nodeLeaseDurationSeconds: 40,
    evictionHard: { 'memory.available': '1Mi', 'nodefs.available': '0.1%' },
    evictionSoft: undefined,
    crashLoopBackOff: { maxContainerRestartPeriod: '5m0s' },
  })
  const json = { headers: { ...bearer(pages).headers, accept: 'application/json' } }
  t.match(await ask('flagz', json), { code: 406, text: /"reason":"NotAcceptable"/ })

  t.test('a session is let in, or not, as a page is', async (t) => {
    const open = (with_: string, asProtocol = false) =>
      new Promise<string>((resolve) => {
        const shown = `base64url.bearer.authorization.k8s.io.${Buffer.from(with_).toString('base64url')}`
        const socket = new WebSocket(
          `wss://${kubelet}/exec/default/p/main?command=echo&command=heard&output=1`,
          ['v5.channel.k8s.io', ...(asProtocol ? [shown] : [])],
          { rejectUnauthorized: false, ...(asProtocol ? {} : bearer(with_)) },
        )
        let text = ''
        socket.on('message', (data: Buffer) => (text += data.subarray(1).toString()))
        socket.on('error', ({ message }) => resolve(message))
        socket.on('close', () => resolve(text))
      })
    t.equal(await open(stats), 'Unexpected server response: 403')
    t.equal(await open('none'), 'Unexpected server response: 401')
    t.match(await open(proxy), /^heard\n/)
    t.match(await open(proxy, true), /^heard\n/, 'as browsers show a token')
  })

  t.test('what was asked a moment ago is known, also while the API server is away', async (t) => {
    await node.serverAwayWhile(async () => {
      t.equal((await ask('stats/summary', bearer(stats))).code, 200)
      t.equal((await ask('stats/summary', bearer('another'))).code, 401)
      const unknown = await ask('logs/', bearer(stats))
      t.same(unknown, {
        code: 500,
        text: `Authorization error (user=${name}, verb=get, resource=nodes, subresource=log)`,
      })
    })
  })
})

t.test('a certificate for kubelets of another subject is made anew', async (t) => {
  const directory = t.testdir({})
  const load = () => loadCredentials({ directory, names: [], clock: systemClock })
  const first = load().kubeletClient()
  t.equal(load().kubeletClient().certPem, first.certPem, 'one that does is kept')
  for (const end of ['crt', 'key']) {
    const other = readFileSync(path.join(directory, `admin.${end}`))
    writeFileSync(path.join(directory, `apiserver-kubelet-client.${end}`), other)
  }
  const { subject } = new X509Certificate(load().kubeletClient().certPem)
  t.equal(subject, 'O=system:masters\nCN=kube-apiserver-kubelet-client')
})
