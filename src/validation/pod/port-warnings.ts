/** Warnings about ports of containers, which share the network of their pod (kubernetes, pkg/api/pod/warnings.go). */

import { child, index } from '#api/field-error.js'
import type { Fields } from '#api/object.js'
import { addToList } from '#collections/add-to-list.js'
import { goQuote } from '#go/quote.js'
import { limits } from '#limits'

interface PlacedPort {
  /** Among the ports of all containers. */
  readonly position: number
  readonly at: string
  readonly port: Fields
}

export const portsOf = (spec: Fields, lists: readonly string[], path: string): PlacedPort[] => {
  const placed: PlacedPort[] = []
  for (const list of lists)
    for (const [i, { ports }] of ((spec[list] ?? []) as Fields[]).entries())
      for (const [j, port] of ((ports ?? []) as Fields[]).entries())
        placed.push({
          position: placed.length,
          at: index(child(index(child(path, list), i), 'ports'), j),
          port,
        })
  return placed
}

/** Ports with one number and protocol, by what makes another such port clash with them. */
class Neighbours {
  readonly #all: PlacedPort[] = []
  readonly #withoutHostPort: PlacedPort[] = []
  readonly #byHostPort = new Map<string, PlacedPort[]>()

  /** Those that clash with the port, in their order. */
  clashesOf({ hostPort = 0, hostIP = '' }: Fields): readonly PlacedPort[] {
    if (hostPort === 0) return this.#all
    const onHost = (key: string): readonly PlacedPort[] => this.#byHostPort.get(key) ?? []
    const others =
      hostIP === ''
        ? onHost(`${hostPort}`)
        : [...onHost(`${hostPort}/`), ...onHost(`${hostPort}/${hostIP}`)]
    return [...this.#withoutHostPort, ...others].sort((a, b) => a.position - b.position)
  }

  add(placed: PlacedPort): void {
    const { hostPort = 0, hostIP = '' } = placed.port
    this.#all.push(placed)
    if (hostPort === 0) this.#withoutHostPort.push(placed)
    else
      for (const key of [`${hostPort}`, `${hostPort}/${hostIP}`]) {
        addToList(this.#byHostPort, key, placed)
      }
  }
}

const clashOf = (port: Fields, other: Fields): string => {
  const [hostPort, otherHostPort] = [port.hostPort ?? 0, other.hostPort ?? 0]
  if (hostPort === otherHostPort && (port.hostIP ?? '') === (other.hostIP ?? '')) return 'duplicate'
  return hostPort === 0 || otherHostPort === 0 ? 'overlapping' : 'dangerously ambiguous'
}

const print = ({ name = '', hostPort = 0, containerPort, protocol, hostIP = '' }: Fields): string =>
  `{Name:${name} HostPort:${hostPort} ContainerPort:${containerPort} Protocol:${protocol} HostIP:${hostIP}}`

/** No more than an answer can hold: a Pod may have tens of thousands of ports, and each could clash with each. */
export const portWarnings = (ports: readonly PlacedPort[]): string[] => {
  const warnings: string[] = []
  let runes = 0
  const warn = (text: string): void => {
    warnings.push(text)
    runes += Math.min(text.length, limits.longWarningRunesMax)
  }
  const neighbours = new Map<string, Neighbours>()
  for (const placed of ports) {
    const { at, port } = placed
    if (port.hostIP && !port.hostPort) warn(`${at}: hostIP set without hostPort: ${print(port)}`)
    const key = `${port.containerPort}/${port.protocol}`
    const near = neighbours.get(key) ?? new Neighbours()
    neighbours.set(key, near)
    for (const other of near.clashesOf(port)) {
      warn(`${at}: ${clashOf(port, other.port)} port definition with ${other.at}`)
      if (runes > limits.warningsRunesMax) return warnings
    }
    near.add(placed)
  }
  return warnings
}

/** The first port of a name is the one that is found by it. */
export const portNameWarnings = (ports: readonly PlacedPort[]): string[] => {
  if (ports.length === 0) return []
  const first = new Map<string, string>()
  return ports.flatMap(({ at, port: { name } }) => {
    if (!name) return []
    const other = first.get(name)
    if (other === undefined) first.set(name, at)
    return other === undefined
      ? []
      : [
          `${at}: duplicate port name ${goQuote(name)} with ${other}, services and probes that select ports by name will use ${other}`,
        ]
  })
}
