/** What endpoints say of ports and of traffic. */
import t from 'tap'
import type { Pod } from '#client/pod.js'
import { type EndpointPort, endpointOf, type Service } from '#controllers/endpointslice/endpoint.js'
import { inSliceOrder, inSubsetOrder } from '#controllers/endpointslice/port-order.js'
import { storedMetadata } from '../stored-metadata.js'

t.test('ports come in the order in which kube-controller-manager 1.36 wrote them', (t) => {
  const port = (name: string, number: number, protocol = 'TCP', appProtocol?: string) =>
    ({ name, port: number, protocol, ...(appProtocol ? { appProtocol } : {}) }) as EndpointPort
  const ports = [
    port('a', 80),
    port('b', 81),
    port('c', 53, 'UDP'),
    port('d', 443),
    port('e', 9090, 'SCTP'),
    port('f', 8080),
    port('metrics', 9100),
    port('http', 8000, 'TCP', 'h2c'),
  ]
  const names = (list: EndpointPort[]) => list.map(({ name }) => name).join(' ')
  t.equal(names(inSliceOrder(ports)), 'e metrics b c a d f http')
  t.equal(names(inSubsetOrder(ports)), 'c metrics b http d e a f')
  t.end()
})

t.test('ready endpoints hint at where their traffic should come from', (t) => {
  const pod = (status: string) =>
    ({
      kind: 'Pod',
      apiVersion: 'v1',
      metadata: { name: 'p', namespace: 'ns', uid: 'u' },
      spec: { nodeName: 'n1', containers: [] },
      status: { conditions: [{ type: 'Ready', status }] },
    }) as unknown as Pod
  const node = (labels: Record<string, string>) => ({
    kind: 'Node',
    apiVersion: 'v1',
    metadata: storedMetadata({ name: 'n1', labels }),
  })
  const zoned = { 'topology.kubernetes.io/zone': 'z1' }
  const hints = (
    trafficDistribution: string | undefined,
    status = 'True',
    labels: object = zoned,
  ) => {
    const service = {
      metadata: storedMetadata({ name: 's' }),
      spec: { trafficDistribution },
    } as Service
    return endpointOf(pod(status), service, ['10.0.0.1'], node({ ...labels })).hints
  }
  const forZones = [{ name: 'z1' }]
  const forNodes = [{ name: 'n1' }]
  t.same(hints('PreferClose'), { forZones })
  t.same(hints('PreferSameZone'), { forZones })
  t.same(hints('PreferSameNode'), { forZones, forNodes })
  t.same(hints('PreferSameNode', 'True', {}), { forNodes })
  t.same(hints('PreferSameZone', 'True', {}), undefined)
  t.same(hints('PreferClose', 'False'), undefined, 'not ready')
  t.same(hints(undefined), undefined)
  t.end()
})
