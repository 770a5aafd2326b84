/** The status of a Service, which its load balancer writes. */
import t from 'tap'
import type { KubeObject } from '#api/object.js'
import kind from '#kinds/core/service.js'

const defaulted = (type: string): string | undefined => {
  const service = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'a' },
    spec: { type, ports: [{ port: 1 }] },
    status: { loadBalancer: { ingress: [{ ip: '1.1.1.1' }] } },
  } as unknown as KubeObject
  kind.strategy?.default?.(service)
  return service.status.loadBalancer.ingress[0].ipMode
}

t.test('an address has a mode by default where a load balancer is asked for', async (t) => {
  t.equal(defaulted('LoadBalancer'), 'VIP')
  t.equal(defaulted('ClusterIP'), undefined, 'a write that says so has to give the mode')
})
