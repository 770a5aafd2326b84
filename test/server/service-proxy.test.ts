/** Which of the Pods of a Service answers through the proxy. */
import http from 'node:http'
import t from 'tap'
import { eventually } from '../eventually.js'
import { listen } from '../listen.js'
import { otherAddress } from './aggregated-api.js'
import { call, startServer } from './start-server.js'

const core = '/api/v1/namespaces/default'
const ip = otherAddress()

t.test(
  'each of them now and then',
  { skip: ip === undefined && 'this machine has loopback addresses only' },
  async (t) => {
    const server = await startServer(t, { disableAdmissionPlugins: ['ServiceAccount'] })
    const write = async (method: string, path: string, body: unknown) =>
      t.match((await call(server, { method, path: core + path, body })).status, /^20[01]$/, path)
    const metadata = { name: 'p' }
    const containers = [{ name: 'c', image: 'i' }]
    await write('POST', '/pods', { metadata, spec: { containers } })
    const status = { podIP: ip, podIPs: [{ ip }] }
    await write('PUT', '/pods/p/status', { metadata, spec: { containers }, status })
    await write('POST', '/services', { metadata, spec: { ports: [{ port: 80 }] } })
    const addresses = [{ ip, targetRef: { kind: 'Pod', name: 'p', namespace: 'default' } }]
    const subsets: object[] = []
    for (const name of ['first', 'second']) {
      const pod = http.createServer((_, answer) => void answer.end(name))
      subsets.push({ addresses, ports: [{ port: await listen(t, pod, ip) }] })
    }
    await write('POST', '/endpoints', { metadata, subsets })
    const answered = new Set<string>()
    await eventually('both to have answered', async () => {
      const { text } = await call(server, { path: `${core}/services/p:80/proxy/x` })
      answered.add(text)
      return answered.size === 2
    })
    t.same([...answered].sort(), ['first', 'second'])
  },
)
