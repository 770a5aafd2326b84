/** By what variables containers find Services. */
import t from 'tap'
import { type Service, serviceVariables } from '#kubelet/environment/service-variables.js'
import type { Pod } from '#kubelet/pod.js'
import { storedMetadata } from '../stored-metadata.js'

const metadata = storedMetadata({ name: 'name-server', namespace: 'default', uid: 'u' })
const pod: Pod = { kind: 'Pod', apiVersion: 'v1', metadata, spec: { containers: [] } }
const service = (clusterIP: string): Service => ({
  ...{ kind: 'Service', apiVersion: 'v1', metadata },
  spec: { clusterIP, ports: [{ name: 'dns', port: 53, protocol: 'UDP' }] },
})
const variablesOf = (clusterIP: string) =>
  Object.fromEntries(serviceVariables([service(clusterIP)], pod))

t.test(
  'the first port is one of its own protocol, and an IPv6 address stands in brackets',
  async (t) => {
    t.same(variablesOf('10.0.0.10'), {
      NAME_SERVER_SERVICE_HOST: '10.0.0.10',
      NAME_SERVER_SERVICE_PORT: '53',
      NAME_SERVER_SERVICE_PORT_DNS: '53',
      NAME_SERVER_PORT: 'udp://10.0.0.10:53',
      NAME_SERVER_PORT_53_UDP: 'udp://10.0.0.10:53',
      NAME_SERVER_PORT_53_UDP_PROTO: 'udp',
      NAME_SERVER_PORT_53_UDP_PORT: '53',
      NAME_SERVER_PORT_53_UDP_ADDR: '10.0.0.10',
    })
    t.match(variablesOf('fd00::a'), {
      NAME_SERVER_SERVICE_HOST: 'fd00::a',
      NAME_SERVER_PORT: 'udp://[fd00::a]:53',
      NAME_SERVER_PORT_53_UDP: 'udp://[fd00::a]:53',
      NAME_SERVER_PORT_53_UDP_ADDR: 'fd00::a',
    })
  },
)
