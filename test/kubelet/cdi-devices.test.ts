/** Which prepared devices a container gets, and how a runtime is told of them. */
import t from 'tap'
import { silentLog } from '#client/log.js'
import type { DraDrivers } from '#kubelet/dra/dra-drivers.js'
import { DynamicResources } from '#kubelet/dra/dynamic-resources.js'
import { PreparedClaims } from '#kubelet/dra/prepared-claims.js'
import type { ObjectReader } from '#kubelet/object-reader.js'
import type { Pod } from '#kubelet/pod.js'
import { containerConfigOf } from '#kubelet/runtime/cri/cri-objects.js'
import type { ContainerConfig } from '#kubelet/runtime.js'
import { containerSecurityOf } from '#kubelet/security.js'

const pod = {
  metadata: { name: 'p', namespace: 'd', uid: 'u' },
  spec: {
    containers: [],
    resourceClaims: [
      { name: 'made', resourceClaimTemplateName: 'template' },
      { name: 'given', resourceClaimName: 'shared' },
    ],
  },
  status: { resourceClaimStatuses: [{ name: 'made', resourceClaimName: 'p-made-x' }] },
} as unknown as Pod

t.test('a container gets the devices of its claims, or of those requests that it names', (t) => {
  const claims = new PreparedClaims('/nonexistent')
  const device = (request: string, id: string) => ({ requestNames: [request], cdiDeviceIds: [id] })
  claims.set({
    ...{ namespace: 'd', name: 'p-made-x', uid: 'c1', podUids: ['u'] },
    drivers: { 'a.example': [device('big', 'a/gpu=0'), device('small', 'a/gpu=1')] },
  })
  claims.set({
    ...{ namespace: 'd', name: 'shared', uid: 'c2', podUids: ['u'] },
    drivers: { 'b.example': [{ requestNames: [], cdiDeviceIds: ['b/net=0', 'b/net=1'] }] },
  })
  const resources = new DynamicResources({
    ...{ reader: {} as ObjectReader, drivers: {} as DraDrivers, claims, log: silentLog },
    signal: new AbortController().signal,
  })
  const devicesOf = (...asked: { name: string; request?: string }[]) =>
    resources.devicesOf(pod, { name: 'c', resources: { claims: asked } })
  t.strictSame(devicesOf(), [])
  t.strictSame(devicesOf({ name: 'made' }), ['a/gpu=0', 'a/gpu=1'])
  const both = devicesOf({ name: 'made', request: 'small' }, { name: 'given', request: 'any' })
  t.strictSame(both, ['a/gpu=1', 'b/net=0', 'b/net=1'])
  const requestMappings = [
    { containerName: 'c', resourceName: 'example.com/gpu', requestName: 'small' },
    { containerName: 'd', resourceName: 'example.com/gpu', requestName: 'big' },
  ]
  const extendedResourceClaimStatus = { resourceClaimName: 'p-made-x', requestMappings }
  const extended = { ...pod, status: { ...pod.status, extendedResourceClaimStatus } }
  t.strictSame(resources.devicesOf(extended, { name: 'c' }), ['a/gpu=1'])
  claims.delete('d/shared')
  t.throws(
    () => devicesOf({ name: 'given' }),
    'internal error: unable to get claim info for ResourceClaim shared in namespace d',
  )
  const security = containerSecurityOf(pod, { name: 'c' }, { user: undefined, seccompFolder: '' })
  const config = {
    ...{ name: 'c', attempt: 0, imageId: 'i', command: [], args: [], env: [], mounts: [] },
    ...{ hash: '', resources: {}, security, cdiDevices: both },
  } as unknown as ContainerConfig
  const identity = { uid: 'u', namespace: 'd', name: 'p' }
  t.strictSame(
    containerConfigOf(config, { pod: identity, node: 'n' }).CDI_devices,
    both.map((name) => ({ name })),
  )
  t.end()
})
