/** Devices that others use are for claims of namespaces with the label, as kube-apiserver v1.36 refuses the rest. */
import t from 'tap'
import { startApiInMemory } from './api-in-memory.js'

const request = (adminAccess: boolean) => ({
  devices: { requests: [{ name: 'r', exactly: { deviceClassName: 'c', adminAccess } }] },
})
const message =
  'Forbidden: admin access to devices requires the `resource.kubernetes.io/admin-access: true` label on the containing namespace'

t.test('admin access to devices needs a label of the namespace', async (t) => {
  const api = await startApiInMemory()
  t.teardown(() => api.close())
  for (const [name, labels] of [
    ['plain', {}],
    ['refused', { 'resource.kubernetes.io/admin-access': 'false' }],
    ['admin', { 'resource.kubernetes.io/admin-access': 'true' }],
  ] as const)
    await api.create('v1/namespaces', { metadata: { name, labels } })
  const claims = 'resource.k8s.io/v1/resourceclaims'
  for (const [namespace, code] of [
    ['plain', 422],
    ['refused', 422],
    ['none', 422],
    ['admin', 201],
  ] as const) {
    const metadata = { name: 'a', namespace }
    const claim = await api.create(claims, { metadata, spec: request(true) }, { namespace })
    t.equal(claim.code, code, namespace)
    if (code === 422)
      t.match(claim.body.details.causes, [
        { field: 'spec.devices.requests[0].adminAccess', message },
      ])
    const template = await api.create(
      'resource.k8s.io/v1/resourceclaimtemplates',
      { metadata, spec: { spec: request(true) } },
      { namespace },
    )
    t.equal(template.code, code, namespace)
  }
  const plain = { namespace: 'plain' }
  const metadata = { name: 'b', namespace: 'plain' }
  t.equal((await api.create(claims, { metadata, spec: request(false) }, plain)).code, 201)
  const allocated = await api.replace(
    claims,
    'b',
    (claim) => {
      const result = { request: 'r', driver: 'd.example.com', pool: 'p', device: 'x y' }
      claim.status = { allocation: { devices: { results: [{ ...result, adminAccess: true }] } } }
    },
    { ...plain, subresource: 'status' },
  )
  t.match(allocated.body.details.causes, [
    { field: 'status.allocation.devices.results[0].adminAccess', message },
    { field: 'status.allocation.devices.results[0].device' },
  ])
})
