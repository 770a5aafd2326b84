/** Clients of one process that act as others: whose tokens they show, and when they ask for new ones. */
import t, { type Test } from 'tap'
import { createClient } from '#client/client.js'
import { parseKubeconfig } from '#client/kubeconfig.js'
import { resources } from '#client/resources.js'
import { ServiceAccountClients } from '#client/service-account-clients.js'
import { createServer } from '../create-server.js'

interface UserInfo {
  username: string
  uid: string
  extra: Record<string, string[]>
}

const user = 'system:kube-controller-manager'

/** The client of a controller, in a process that is `user` by its certificate. `time` may be moved. */
const start = async (t: Test, process = user, signal = new AbortController().signal) => {
  const server = await createServer({ storage: 'memory:', port: 0, logLevel: 'silent' })
  const admin = createClient(await parseKubeconfig(server.kubeconfig), 'test')
  const client = createClient(await parseKubeconfig(server.kubeconfigOf(process)), 'manager/1')
  const time = { aheadMs: 0 }
  const clock = { now: () => Date.now() + time.aheadMs }
  const clients = new ServiceAccountClients({ client, clock, signal })
  const controller = clients.of('some-controller')
  t.equal(clients.of('some-controller'), controller)
  t.teardown(async () => {
    clients.close()
    client.close()
    admin.close()
    await server.close()
  })
  const whoIs = async (asking = controller): Promise<UserInfo> => {
    const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }
    const path = '/apis/authentication.k8s.io/v1/selfsubjectreviews'
    const { status } = await asking.request<{ status: { userInfo: UserInfo } }>({
      method: 'POST',
      path,
      body,
    })
    return status.userInfo
  }
  return { server, admin, client, controller, whoIs, time }
}

const tokenOf = ({ extra }: UserInfo): string | undefined =>
  extra['authentication.kubernetes.io/credential-id']?.[0]

t.test('a controller is its ServiceAccount, whatever the process is', async (t) => {
  const { admin, client, controller, whoIs } = await start(t)
  const [first, second] = await Promise.all([whoIs(), whoIs()])
  t.equal(first.username, 'system:serviceaccount:kube-system:some-controller')
  t.equal(tokenOf(first), tokenOf(second), 'requests share a token')
  t.equal((await whoIs(client)).username, user)

  const at = { name: 'some-controller', namespace: 'kube-system' }
  await t.rejects(controller.get(resources.pods, at), { code: 403 })
  t.match(
    await admin.get(resources.serviceAccounts, at),
    { metadata: { uid: first.uid, managedFields: undefined } },
    'which the process has made',
  )
  const counted = client.metrics[0]!.values().map(({ labels }) => labels.code)
  t.ok(counted.includes('403'), 'its requests are counted with those of the process')
})

t.test('a token is replaced before it expires', async (t) => {
  const { whoIs, time } = await start(t)
  const first = tokenOf(await whoIs())
  time.aheadMs = 47 * 60_000
  t.equal(tokenOf(await whoIs()), first)
  time.aheadMs = 49 * 60_000
  t.not(tokenOf(await whoIs()), first)
})

t.test('an account that was deleted is made again after one refusal', async (t) => {
  const { server, admin, whoIs } = await start(t)
  const first = await whoIs()
  await admin.delete(resources.serviceAccounts, {
    name: 'some-controller',
    namespace: 'kube-system',
  })
  t.match(await whoIs(), { uid: first.uid }, 'the server has asked about the token just now')
  server.clock.advance(60_000)
  await t.rejects(whoIs(), { code: 401 })
  const second = await whoIs()
  t.equal(second.username, first.username)
  t.not(second.uid, first.uid)
})

t.test('whoever may make no tokens is told so', async (t) => {
  const { whoIs } = await start(t, 'nobody', AbortSignal.abort())
  await t.rejects(whoIs(), {
    message: /^failed to get token for kube-system\/some-controller: .*User "nobody" cannot get/,
  })
})
