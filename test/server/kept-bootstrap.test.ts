/** Objects that every cluster has are made again while the server runs, as by upstream's controllers within kube-apiserver. */
import t from 'tap'
import { eventually } from '../eventually.js'
import { call, startServer } from './start-server.js'

const cidr = '/apis/networking.k8s.io/v1/servicecidrs/kubernetes'
const namespace = '/api/v1/namespaces/kube-node-lease'
const flowControl = '/apis/flowcontrol.apiserver.k8s.io/v1'
const level = `${flowControl}/prioritylevelconfigurations/workload-low`
const schema = `${flowControl}/flowschemas/service-accounts`

t.test('what somebody removes is there again', async (t) => {
  const server = await startServer(t, { serviceClusterIpRange: '10.3.0.0/24' })
  const read = async (path: string) => (await call(server, { path })).body
  const paths = [cidr, namespace, level, schema]
  const before = await Promise.all(paths.map(read))
  for (const path of paths) await call(server, { method: 'DELETE', path })
  const { status, ...ended } = await read(namespace)
  await call(server, {
    method: 'PUT',
    path: `${namespace}/finalize`,
    body: { ...ended, spec: { finalizers: [] } },
  })
  for (const [i, path] of paths.entries()) {
    const { uid } = before[i].metadata
    const again = await eventually(`${path} is there again`, async () => {
      const { metadata, ...rest } = await read(path)
      return metadata?.uid !== undefined && metadata.uid !== uid && { metadata, ...rest }
    })
    t.same(again.spec, before[i].spec)
  }
  const isReady = async () => (await read(cidr)).status?.conditions?.[0]?.status === 'True'
  await eventually('the range is ready', isReady)
})

t.test('a default range that waits to be removed is not said to be ready', async (t) => {
  const server = await startServer(t)
  const headers = { 'content-type': 'application/merge-patch+json' }
  const patch = (path: string, body: object) =>
    call(server, { method: 'PATCH', path, headers, body })
  await patch(cidr, { metadata: { finalizers: ['example.com/held'] } })
  await call(server, { method: 'DELETE', path: cidr })
  await patch(`${cidr}/status`, { status: { conditions: null } })
  await call(server, { method: 'DELETE', path: schema })
  const isChecked = async () => (await call(server, { path: schema })).status === 200
  await eventually('what comes after the range was looked at', isChecked)
  t.notOk((await call(server, { path: cidr })).body.status?.conditions)
})
