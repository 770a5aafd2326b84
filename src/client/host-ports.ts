/** Ports of a node that its Pods hold: no two may hold the same. */
import type { Container } from './pod.js'

type Holding = Pick<Container, 'ports' | 'restartPolicy'>
/** The part of a Pod that says which ports it holds. */
export interface PortHolder {
  spec: {
    containers: readonly Holding[]
    initContainers?: readonly Holding[]
  }
}

interface HostPort {
  ip: string
  protocol: string
  port: number
}

/** Init containers that end before the others begin hold no port. */
export const hostPortsOf = ({ spec }: PortHolder): HostPort[] =>
  [
    ...(spec.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always'),
    ...spec.containers,
  ].flatMap(({ ports = [] }) =>
    ports
      .filter(({ hostPort = 0 }) => hostPort > 0)
      .map(({ hostIP, hostPort, protocol = 'TCP' }) => ({
        ip: hostIP || '0.0.0.0',
        protocol,
        port: hostPort!,
      })),
  )

/** Two wishes for one port clash unless both name different addresses. */
const portsConflict = (a: HostPort, b: HostPort): boolean =>
  a.port === b.port &&
  a.protocol === b.protocol &&
  (a.ip === b.ip || a.ip === '0.0.0.0' || b.ip === '0.0.0.0')

/** Whether the Pod wants a port that one of the others holds. */
export const arePortsTaken = (pod: PortHolder, others: Iterable<PortHolder>): boolean => {
  const wanted = hostPortsOf(pod)
  if (wanted.length === 0) return false
  for (const other of others)
    for (const taken of hostPortsOf(other))
      if (wanted.some((port) => portsConflict(port, taken))) return true
  return false
}
