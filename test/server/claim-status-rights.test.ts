/** Who may write what into the status of a ResourceClaim, as kube-apiserver v1.36 answers. */
import t from 'tap'
import { call, startServer } from './start-server.js'

const group = 'resource.k8s.io'
const rbac = 'rbac.authorization.k8s.io'
const claims = `/apis/${group}/v1/namespaces/default/resourceclaims`
const driver = { name: 'system:serviceaccount:default:driver', node: 'n1' }

t.test('the right to update statuses allocates no devices and speaks for no driver', async (t) => {
  const server = await startServer(t)
  const post = async (path: string, body: unknown) =>
    t.equal((await call(server, { method: 'POST', path, body })).status, 201)
  const grant = async (user: string, resource: string, verbs: string[], names?: string[]) => {
    const name = `${user}:${resource}`.replace('/', ':')
    const rule = { apiGroups: [group], resources: [`resourceclaims/${resource}`], verbs }
    const rules = [{ ...rule, ...(names && { resourceNames: names }) }]
    await post(`/apis/${rbac}/v1/clusterroles`, { metadata: { name }, rules })
    const subjects = [{ kind: 'User', name: user }]
    const roleRef = { apiGroup: rbac, kind: 'ClusterRole', name }
    await post(`/apis/${rbac}/v1/clusterrolebindings`, { metadata: { name }, subjects, roleRef })
  }
  for (const user of ['plain', 'scheduler', driver.name])
    await grant(user, 'status', ['update', 'patch'])
  await grant('scheduler', 'binding', ['update'])
  await grant(driver.name, 'driver', ['associated-node:update'], ['a.example.com'])
  const request = { name: 'r', exactly: { deviceClassName: 'c', count: 2 } }
  await post(claims, { metadata: { name: 'c' }, spec: { devices: { requests: [request] } } })

  const write = async (user: string, status: object, { node = '', method = 'PUT' } = {}) => {
    const extra = { 'impersonate-extra-authentication.kubernetes.io%2fnode-name': node }
    const { body } = await call(server, {
      method,
      path: `${claims}/c/status`,
      body: { metadata: { name: 'c' }, status },
      headers: {
        'impersonate-user': user,
        ...(node !== '' && extra),
        ...(method === 'PATCH' && { 'content-type': 'application/merge-patch+json' }),
      },
    })
    return body.kind === 'Status' ? body.details.causes : 'written'
  }
  const device = (name: string) => ({ driver: `${name}.example.com`, pool: 'p', device: 'd' })
  const results = ['a', 'b'].map((name) => ({ request: 'r', ...device(name) }))
  const matchFields = [{ key: 'metadata.name', operator: 'In', values: [driver.node] }]
  const nodeSelector = { nodeSelectorTerms: [{ matchFields }] }
  const allocation = { devices: { results }, nodeSelector }

  for (const [method, verb] of [
    ['PUT', 'update'],
    ['PATCH', 'patch'],
  ] as const)
    t.match(
      await write('plain', { allocation, reservedFor: [{ name: 'p', uid: 'u' }] }, { method }),
      [
        {
          field: 'status.allocation',
          message: `Forbidden: changing status.allocation or status.reservedFor requires resource="resourceclaims/binding", verb="${verb}" permission: resourceclaims.resource.k8s.io is forbidden: User "plain" cannot ${verb} resource "resourceclaims/binding" in API group "resource.k8s.io" at the cluster scope`,
        },
        { field: 'status.reservedFor[0].resource' },
      ],
    )
  t.equal(await write('scheduler', { allocation }), 'written')

  const says = (...names: string[]) => ({ allocation, devices: names.map(device) })
  const refused = (user: string, verbs: string[], name: string) => ({
    field: 'status.devices',
    message: `Forbidden: changing status.devices requires resource="resourceclaims/driver", verb="[${verbs.join(' ')}]" permission: resourceclaims.resource.k8s.io "${name}.example.com" is forbidden: User "${user}" cannot ${verbs[0]} resource "resourceclaims/driver" in API group "resource.k8s.io" in the namespace "default"`,
  })
  const anywhere = 'arbitrary-node:update'
  t.match(await write('scheduler', says('b', 'a')), [
    refused('scheduler', [anywhere], 'a'),
    refused('scheduler', [anywhere], 'b'),
  ])
  const { name } = driver
  t.match(await write(name, says('a'), { node: 'n2' }), [refused(name, [anywhere], 'a')])
  t.match(await write(name, says('a', 'b'), driver), [
    refused(name, ['associated-node:update', anywhere], 'b'),
  ])
  t.equal(await write(name, says('a'), driver), 'written')
  t.match(await write('plain', says()), [refused('plain', [anywhere], 'a')])
  t.equal(await write('scheduler', {}), 'written', 'deallocation takes the devices with it')
})
