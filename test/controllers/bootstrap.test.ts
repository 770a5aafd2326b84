/** How a node that knows a token and nothing else joins, as kubeadm's discovery goes. */
import { CompactSign, compactVerify } from 'jose'
import t from 'tap'
import type { NamespacedObject } from '#api/object.js'
import { createClient } from '#client/client.js'
import { isNotFound } from '#client/errors.js'
import { parseKubeconfig } from '#client/kubeconfig.js'
import { resources } from '#client/resources.js'
import { signedData } from '#controllers/bootstrap/signatures.js'
import { signingToken, timeLeft } from '#controllers/bootstrap/token-secret.js'
import { until } from './cluster.js'
import { manage, startBeside } from './in-process.js'

interface ConfigMap extends NamespacedObject {
  data: Record<string, string>
}

const controllers = ['*', 'bootstrap-signer-controller', 'token-cleaner-controller']
const info = { namespace: 'kube-public', name: 'cluster-info' }
const rbac = (resource: string, kind: string) => ({
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  resource,
  kind,
  namespaced: true,
})

const base64 = (text: string): string => Buffer.from(text).toString('base64')
const tokenSecret = (name: string, values: Record<string, string>) => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name, namespace: 'kube-system', uid: 'u', resourceVersion: '1' },
  type: 'bootstrap.kubernetes.io/token',
  data: Object.fromEntries(Object.entries(values).map(([key, value]) => [key, base64(value)])),
})
const signing = { 'token-id': 'abc123', 'usage-bootstrap-signing': 'true' }

t.test('what is signed is what the JWS of all of it says', async (t) => {
  const name = 'bootstrap-token-abc123'
  const valid = { ...signing, 'token-secret': 'tokenSecret' }
  const of = (values: Record<string, string>, now = 0, as = name) =>
    signingToken(tokenSecret(as, values), now)
  const token = of(valid)!
  const data = { kubeconfig: 'payload', other: 'x', 'jws-kubeconfig-gone00': 'old' }
  const signed = signedData(data, [token])!
  const { kubeconfig, other, ...rest } = signed
  t.same({ kubeconfig, other }, { kubeconfig: 'payload', other: 'x' })
  t.same(Object.keys(rest), ['jws-kubeconfig-abc123'])
  const whole = await new CompactSign(Buffer.from('payload'))
    .setProtectedHeader({ alg: 'HS256', kid: 'abc123' })
    .sign(Buffer.from('tokenSecret'))
  const [header, , mac] = whole.split('.')
  t.equal(rest['jws-kubeconfig-abc123'], `${header}..${mac}`)
  t.equal(signedData(signed, [token]), undefined, 'nothing to do any more')
  t.equal(signedData({ other: 'x', 'jws-kubeconfig-abc123': 'y' }, [token]), undefined)
  t.ok(signedData({ kubeconfig: '' }, [token]), 'nothing is signed, too')

  const at = (expiration: string, now: string) => of({ ...valid, expiration }, Date.parse(now))
  t.ok(at('2030-01-01T00:00:00+01:00', '2029-12-31T22:59:59Z'))
  t.notOk(at('2030-01-01T00:00:00+01:00', '2029-12-31T23:00:00Z'))
  t.notOk(at('garbage', '2029-12-31T23:00:00Z'))
  const refused = [
    { ...valid, 'usage-bootstrap-signing': '' },
    { ...valid, 'usage-bootstrap-signing': 'True' },
    { ...valid, 'token-id': '' },
    { ...valid, 'token-id': 'def456' },
    { ...valid, 'token-secret': '' },
  ]
  for (const values of refused) t.notOk(of(values), JSON.stringify(values))
  for (const other of ['abc123', 'bootstrap-token-ABC123', 'bootstrap-token-abc1234'])
    t.notOk(of(valid, 0, other), other)
  t.equal(timeLeft(tokenSecret(name, {}), 0), Number.POSITIVE_INFINITY)
  t.equal(timeLeft(tokenSecret(name, { expiration: '1970-01-01T00:00:01.5Z' }), 500), 1000)
})

t.test('a token finds the cluster, is believed, and joins until it is over', async (t) => {
  const server = { enableBootstrapTokenAuth: true, authorizationModes: ['RBAC' as const] }
  const client = await startBeside(t, async () => {}, undefined, server)
  const { config } = client
  const kubeconfig = JSON.stringify({
    clusters: [
      {
        name: '',
        cluster: { server: config.server, 'certificate-authority-data': base64(config.ca!) },
      },
    ],
  })
  await client.create(resources.configMaps, { metadata: info, data: { kubeconfig } })
  // Which kubeadm makes as well.
  const role = { name: 'kubeadm:bootstrap-signer-clusterinfo', namespace: info.namespace }
  await client.create(rbac('roles', 'Role'), {
    metadata: role,
    rules: [
      { apiGroups: [''], resources: ['configmaps'], resourceNames: [info.name], verbs: ['get'] },
    ],
  })
  const group = 'rbac.authorization.k8s.io'
  await client.create(rbac('rolebindings', 'RoleBinding'), {
    metadata: role,
    roleRef: { apiGroup: group, kind: 'Role', name: role.name },
    subjects: [{ apiGroup: group, kind: 'User', name: 'system:anonymous' }],
  })
  const secretValue = '0123456789abcdef'
  const make = (id: string, extra: Record<string, string> = {}) => {
    const values = { ...signing, 'token-id': id, 'token-secret': secretValue, ...extra }
    const { metadata, ...rest } = tokenSecret(`bootstrap-token-${id}`, values)
    return client.create(resources.secrets, {
      ...rest,
      metadata: { name: metadata.name, namespace: metadata.namespace },
    })
  }
  await make('abcdef', { 'usage-bootstrap-authentication': 'true' })
  await make('silent', { 'usage-bootstrap-signing': 'false' })
  await make('past00', { expiration: '2020-01-01T00:00:00Z' })
  await make('long00', { expiration: '2999-01-01T00:00:00Z' })
  manage(t, client, { controllers })

  // Nothing is known of the cluster but where it is, not even whose certificate it has.
  const stranger = createClient(
    { server: config.server, namespace: info.namespace, insecureSkipTlsVerify: true },
    'kubeadm',
  )
  t.teardown(() => stranger.close())
  const read = () => stranger.get<ConfigMap>(resources.configMaps, info)
  const signatures = async () => Object.keys((await read()).data).filter((k) => k !== 'kubeconfig')
  await until(async () => (await signatures()).length === 2)
  t.same((await signatures()).sort(), ['jws-kubeconfig-abcdef', 'jws-kubeconfig-long00'])
  await until(() =>
    client
      .get(resources.secrets, { namespace: 'kube-system', name: 'bootstrap-token-past00' })
      .then(() => false, isNotFound),
  )

  const { data } = await read()
  const [header, , mac] = data['jws-kubeconfig-abcdef']!.split('.')
  const jws = `${header}.${Buffer.from(data.kubeconfig!).toString('base64url')}.${mac}`
  const verified = await compactVerify(jws, Buffer.from(secretValue), { algorithms: ['HS256'] })
  t.equal(verified.protectedHeader.kid, 'abcdef')
  await t.rejects(compactVerify(jws, Buffer.from('0123456789abcdeF'), { algorithms: ['HS256'] }))

  const [{ cluster }] = JSON.parse(Buffer.from(verified.payload).toString()).clusters
  const joiningConfig = JSON.stringify({
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    clusters: [{ name: 'c', cluster }],
    users: [{ name: 'u', user: { token: `abcdef.${secretValue}` } }],
  })
  const joining = createClient(await parseKubeconfig(joiningConfig), 'kubelet')
  t.teardown(() => joining.close())
  const whoIs = () =>
    joining.request({
      method: 'POST',
      path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
      body: { kind: 'SelfSubjectReview', apiVersion: 'authentication.k8s.io/v1' },
    })
  t.match(await whoIs(), { status: { userInfo: { username: 'system:bootstrap:abcdef' } } })

  const at = { namespace: 'kube-system', name: 'bootstrap-token-abcdef' }
  const expiration = base64('2020-01-01T00:00:00Z')
  await client.patch(resources.secrets, at, { data: { expiration } }, { type: 'merge' })
  await until(async () => (await signatures()).join() === 'jws-kubeconfig-long00')
  await until(() => client.get(resources.secrets, at).then(() => false, isNotFound))
  // What was found good stays so for a while, as with kube-apiserver.
  await until(() =>
    whoIs().then(
      () => false,
      () => true,
    ),
  )
  const changed = `${kubeconfig} `
  const before = data['jws-kubeconfig-long00']
  await client.patch(
    resources.configMaps,
    info,
    { data: { kubeconfig: changed } },
    { type: 'merge' },
  )
  await until(async () => (await read()).data['jws-kubeconfig-long00'] !== before)
})
