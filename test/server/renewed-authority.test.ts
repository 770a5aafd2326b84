/** Authorities of clients in files: who is in them now is trusted, without a start (apiserver, dynamic_cafile_content.go). */
import { writeFileSync } from 'node:fs'
import https from 'node:https'
import path from 'node:path'
import t from 'tap'
import { issueCertificate } from '#net/x509.js'
import { eventually } from '../eventually.js'
import { call, startServer } from './start-server.js'

const day = 86_400_000
const life = { notBeforeMs: Date.now() - day, notAfterMs: Date.now() + 40 * day }
const authority = (commonName: string) =>
  issueCertificate({ ...life, use: 'authority', subject: { commonName } })
const [first, second] = [authority('first'), authority('second')]
const clientOf = (commonName: string, issuer: ReturnType<typeof authority>) => {
  const made = issueCertificate({ ...life, use: 'client', subject: { commonName }, issuer })
  return { cert: made.certPem, key: made.keyPem }
}

t.test('a file of authorities that takes the place of the former', async (t) => {
  const folder = t.testdir({ 'ca.crt': first.certPem, 'proxies.crt': first.certPem })
  const [ca, proxies] = [path.join(folder, 'ca.crt'), path.join(folder, 'proxies.crt')]
  const server = await startServer(t, {
    clientCaFile: ca,
    requestheaderClientCaFile: proxies,
    requestheaderAllowedNames: ['proxy'],
  })
  const { hostname, port } = new URL(server.url)
  const agentOf = (pair: { cert: string; key: string }) => {
    const agent = new https.Agent({ keepAlive: true, maxSockets: 1, ca: server.caPem, ...pair })
    t.teardown(() => agent.destroy())
    return agent
  }
  const userOf = (agent: https.Agent, headers: Record<string, string> = {}) =>
    new Promise<string>((resolve, reject) => {
      const request = https.request(
        {
          ...{ hostname, port, agent, method: 'POST' },
          path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
          headers: { 'content-type': 'application/json', ...headers },
        },
        async (response) => {
          const { status, code } = JSON.parse((await response.toArray()).join(''))
          resolve(status.userInfo?.username ?? String(code))
        },
      )
      request.on('error', reject).end('{}')
    })
  const alice = agentOf(clientOf('alice', first))
  t.equal(await userOf(alice), 'alice')
  t.equal(await userOf(agentOf(clientOf('bob', second))), '401')
  const named = { 'x-remote-user': 'carol' }
  t.equal(await userOf(agentOf(clientOf('proxy', first)), named), 'carol')

  writeFileSync(ca, 'nobody')
  writeFileSync(proxies, second.certPem)
  const isCarol = async () =>
    (await userOf(agentOf(clientOf('proxy', second)), named).catch(() => '')) === 'carol'
  t.ok(await eventually('the other proxy is trusted', isCarol))
  t.equal(await userOf(alice), 'alice', 'a file without certificates changes nothing')

  writeFileSync(ca, second.certPem)
  const isBob = async () => (await userOf(agentOf(clientOf('bob', second)))) === 'bob'
  t.ok(await eventually('the other authority is trusted', isBob))
  t.equal(await userOf(alice), '401', 'the former is not, on its open connection either')
  t.equal(await userOf(agentOf(clientOf('alice', first))), '401')
  const isPublished = async () => {
    const at = '/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication'
    const { data } = (await call(server, { path: at })).body
    return data['client-ca-file'].includes(second.certPem)
  }
  t.ok(await eventually('others can read of it', isPublished))
})
