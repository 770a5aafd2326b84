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

t.test(
  'what somebody changes of priority levels is put back, unless its annotation says no',
  async (t) => {
    const server = await startServer(t)
    const levels = `${flowControl}/prioritylevelconfigurations`
    const automatic = 'apf.kubernetes.io/autoupdate-spec'
    const headers = { 'content-type': 'application/merge-patch+json' }
    const shares = (nominalConcurrencyShares: number) => ({ limited: { nominalConcurrencyShares } })
    const patch = async (name: string, spec: object, says?: string | null) => {
      const metadata = says === undefined ? {} : { annotations: { [automatic]: says } }
      const path = `${levels}/${name}`
      const { status } = await call(server, {
        method: 'PATCH',
        path,
        headers,
        body: { metadata, spec },
      })
      t.equal(status, 200, name)
    }
    await patch('workload-high', shares(6), 'false')
    await patch('system', shares(7), null)
    await patch('leader-election', {}, null)
    const exempt = { nominalConcurrencyShares: 3, lendablePercent: 9 }
    await patch('exempt', { exempt }, 'false')
    await patch('workload-low', shares(5))
    const seen = async (name: string) => {
      const { metadata, spec } = (await call(server, { path: `${levels}/${name}` })).body
      const { nominalConcurrencyShares } = spec.limited ?? spec.exempt
      return `${metadata.annotations?.[automatic]} ${nominalConcurrencyShares}`
    }
    const isPutBack = async () => (await seen('workload-low')) === 'true 100'
    await eventually('what was changed is put back', isPutBack)
    // As kube-apiserver v1.36 had left them after its minute.
    t.equal(await seen('workload-high'), 'false 6')
    t.equal(await seen('system'), 'false 7', 'it was changed while nothing was said')
    t.equal(await seen('leader-election'), 'true 10')
    t.equal(await seen('exempt'), 'true 3', 'its shares may be changed')
  },
)

t.test(
  'flow schemas and levels that are kept up to date by a server which made them are deleted if none does',
  async (t) => {
    const server = await startServer(t)
    const automatic = 'apf.kubernetes.io/autoupdate-spec'
    const spec = { type: 'Limited', limited: { limitResponse: { type: 'Reject' } } }
    const create = async (resource: string, name: string, says: string, spec: object) => {
      const body = { metadata: { name, annotations: { [automatic]: says } }, spec }
      const { status } = await call(server, {
        method: 'POST',
        path: `${flowControl}/${resource}`,
        body,
      })
      t.equal(status, 201, name)
    }
    const says = { former: 'true', own: 'false', odd: 'perhaps' }
    const schemas = { matchingPrecedence: 1000, priorityLevelConfiguration: { name: 'own' } }
    for (const [name, automatically] of Object.entries(says)) {
      await create('prioritylevelconfigurations', name, automatically, spec)
      await create('flowschemas', name, automatically, schemas)
    }
    for (const resource of ['flowschemas', 'prioritylevelconfigurations']) {
      const statusOf = async (name: string) =>
        (await call(server, { path: `${flowControl}/${resource}/${name}` })).status
      await eventually(
        `${resource}: the former one is gone`,
        async () => (await statusOf('former')) === 404,
      )
      t.same([await statusOf('own'), await statusOf('odd')], [200, 200], resource)
    }
  },
)
