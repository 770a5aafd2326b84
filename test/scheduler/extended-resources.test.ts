/** Which devices stand for the extended resources of a Pod, as kube-scheduler 1.36 asks for them (KEP-5004). */
import t from 'tap'
import type { Container, Pod } from '#client/pod.js'
import { classesByResource, requestsForDevices } from '#scheduler/devices/extended-resources.js'
import type { DeviceClass } from '#scheduler/devices/requests.js'
import { storedMetadata } from '../stored-metadata.js'
import { pod } from './small-cluster.js'

const deviceClass = (name: string, extendedResourceName?: string, second = 0): DeviceClass => ({
  kind: 'DeviceClass',
  apiVersion: 'resource.k8s.io/v1',
  metadata: storedMetadata({ name, creationTimestamp: `2026-01-01T00:00:0${second}Z` }),
  spec: { ...(extendedResourceName && { extendedResourceName }) },
})

t.test('each class gives a resource of its own, and the newest with a name another', (t) => {
  const classes = classesByResource([
    deviceClass('old', 'example.com/gpu', 0),
    deviceClass('z', 'example.com/gpu', 1),
    deviceClass('b', 'example.com/gpu', 1),
    deviceClass('other'),
  ])
  const named = [...classes].map(([resource, { metadata }]) => `${resource}=${metadata.name}`)
  t.strictSame(named.sort(), [
    'deviceclass.resource.kubernetes.io/b=b',
    'deviceclass.resource.kubernetes.io/old=old',
    'deviceclass.resource.kubernetes.io/other=other',
    'deviceclass.resource.kubernetes.io/z=z',
    'example.com/gpu=b',
  ])
  t.end()
})

const asking = (name: string, requests: Record<string, string>, sidecar = false): Container => ({
  name,
  ...(sidecar && { restartPolicy: 'Always' }),
  resources: { requests },
})
const gpus = (count: number) => ({ 'example.com/gpu': String(count) })

/** `request=count`, and `container:request` of the mappings. */
const ask = (of: Pod, resources = ['example.com/gpu']): { requests: string; mappings: string } => {
  const classes = classesByResource([
    deviceClass('gpu', 'example.com/gpu'),
    deviceClass('nic', 'example.com/nic'),
  ])
  const { requests, mappings } = requestsForDevices(of, resources, (name) => classes.get(name))
  return {
    requests: requests.map(({ name, exactly }) => `${name}=${exactly!.count}`).join(' '),
    mappings: mappings.map((m) => `${m.containerName}:${m.requestName}`).join(' '),
  }
}

t.test('each container that stays has a request of its own', (t) => {
  const containers = [asking('a', { cpu: '1', ...gpus(2) }), asking('b', {}), asking('c', gpus(1))]
  t.strictSame(ask(pod('p', { containers })), {
    requests: 'container-0-request-1=2 container-2-request-0=1',
    mappings: 'a:container-0-request-1 c:container-2-request-0',
  })
  const both = [asking('a', { 'example.com/nic': '1', ...gpus(2) })]
  t.strictSame(ask(pod('p', { containers: both }), ['example.com/nic', 'example.com/gpu']), {
    requests: 'container-0-request-0=2 container-0-request-1=1',
    mappings: 'a:container-0-request-0 a:container-0-request-1',
  })
  t.end()
})

t.test('init containers use what comes after them, and share what they need beyond it', (t) => {
  const initContainers = [
    asking('small', gpus(1)),
    asking('large', gpus(5)),
    asking('sidecar', gpus(1), true),
    asking('late', gpus(4)),
  ]
  const containers = [asking('main', gpus(2))]
  t.strictSame(ask(pod('p', { initContainers, containers })), {
    // Before the sidecar are 1 + 2 devices of those that stay, after it 2.
    requests: 'container-1-request-0=2 container-2-request-0=1 container-4-request-0=2',
    mappings: [
      'sidecar:container-2-request-0',
      'main:container-4-request-0',
      'small:container-2-request-0',
      'large:container-2-request-0',
      'large:container-4-request-0',
      'large:container-1-request-0',
      'late:container-4-request-0',
      'late:container-1-request-0',
    ].join(' '),
  })
  t.end()
})
