/** The variables by which a container finds the Services of its namespace; upstream: pkg/kubelet/envvars/envvars.go. */
import type { NamespacedObject } from '#api/object.js'
import { hostInUrl } from '#net/host-in-url.js'
import type { Pod } from '../pod.js'

export interface Service extends NamespacedObject {
  spec: { clusterIP?: string; ports?: ServicePort[] }
}
interface ServicePort {
  name?: string
  port: number
  protocol?: string
}
type Variable = [name: string, value: string]

const envName = (name: string): string => name.toUpperCase().replaceAll('-', '_')

const urlOf = (ip: string, { port, protocol = 'TCP' }: ServicePort): string =>
  `${protocol.toLowerCase()}://${hostInUrl(ip)}:${port}`

/** The form that Docker's links had. */
const linkVariables = (name: string, ip: string, servicePort: ServicePort) => {
  const { port, protocol = 'TCP' } = servicePort
  const prefix = `${name}_PORT_${port}_${protocol}`
  const scheme = protocol.toLowerCase()
  return [
    [prefix, urlOf(ip, servicePort)],
    [`${prefix}_PROTO`, scheme],
    [`${prefix}_PORT`, String(port)],
    [`${prefix}_ADDR`, ip],
  ] satisfies Variable[]
}

const variablesOf = ({ metadata, spec }: Service): Variable[] => {
  const { clusterIP: ip, ports = [] } = spec
  const [first] = ports
  if (!first || !ip || ip === 'None') return []
  const name = envName(metadata.name)
  const named = ports.flatMap((port): Variable[] =>
    port.name ? [[`${name}_SERVICE_PORT_${envName(port.name)}`, `${port.port}`]] : [],
  )
  return [
    [`${name}_SERVICE_HOST`, ip],
    [`${name}_SERVICE_PORT`, String(first.port)],
    ...named,
    [`${name}_PORT`, urlOf(ip, first)],
    ...ports.flatMap((port) => linkVariables(name, ip, port)),
  ]
}

/** The API server is always named; other Services where the Pod wants their links. */
export const serviceVariables = (
  services: readonly Service[],
  { metadata, spec }: Pod,
): Variable[] => {
  const isApiServer = ({ metadata: { namespace, name } }: Service): boolean =>
    namespace === 'default' && name === 'kubernetes'
  const own =
    spec.enableServiceLinks === false
      ? []
      : services.filter((service) => service.metadata.namespace === metadata.namespace)
  return [...services.filter(isApiServer), ...own].flatMap(variablesOf)
}
