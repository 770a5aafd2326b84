/** What is written into the status of a claim: its devices, how they are configured, and where they can be used. */
import { randomUUID } from 'node:crypto'
import type { Node, NodeSelectorTerm } from '#client/pod.js'
import type {
  AllocatedDevice,
  Allocation,
  DeviceConfiguration,
  NodeSelector,
  ResourceClaim,
} from '#client/resource-claim.js'
import type { Taken } from './capacity.js'
import type { PooledDevice } from './pools.js'
import type { Alternative } from './requests.js'

/** A device for one alternative of a request. */
export interface Chosen {
  readonly way: Alternative
  readonly pooled: PooledDevice
  /** What a share of it takes; undefined of a device that the claim has to itself. */
  readonly share?: Taken
}
type Configuration = NonNullable<Allocation['devices']['config']>

/** The configuration of a class stands there once, for all requests of that class; then comes what the claim says itself. */
const configurationOf = (claim: ResourceClaim, ways: readonly Alternative[]): Configuration => {
  const ofClasses = new Map<string, (DeviceConfiguration & { source: string })[]>()
  for (const { name, deviceClass } of ways) {
    const known = ofClasses.get(deviceClass.metadata.name)
    for (const config of known ?? []) config.requests?.push(name)
    if (known !== undefined) continue
    const configs = deviceClass.spec.config ?? []
    ofClasses.set(
      deviceClass.metadata.name,
      configs.map((config) => ({ source: 'FromClass', ...config, requests: [name] })),
    )
  }
  const own = (claim.spec.devices?.config ?? []).flatMap((config) => {
    const entry = { source: 'FromClaim', ...config }
    if ((config.requests ?? []).length === 0) return [entry]
    return ways.flatMap(({ names }) =>
      names.some((name) => config.requests!.includes(name)) ? [entry] : [],
    )
  })
  return [...[...ofClasses.values()].flat(), ...own]
}

type Requirements = NonNullable<NodeSelectorTerm['matchExpressions']>

const requirementText = ({ key, operator, values = [] }: Requirements[number]): string =>
  JSON.stringify([key, operator, [...values].sort()])

const addNew = (more: Requirements | undefined, into: Requirements): void => {
  for (const requirement of more ?? []) {
    const text = requirementText(requirement)
    if (!into.some((known) => requirementText(known) === text)) into.push(requirement)
  }
}

/** Undefined: the devices can be used from everywhere. */
const nodeSelectorOf = (chosen: readonly Chosen[], node: Node): NodeSelector | undefined => {
  const matchFields: Requirements = []
  const matchExpressions: Requirements = []
  for (const { pooled } of chosen) {
    const { nodeName, nodeSelector } = pooled.reach
    if (nodeName || pooled.device.bindsToNode) {
      const here = { key: 'metadata.name', operator: 'In', values: [node.metadata.name] }
      return { nodeSelectorTerms: [{ matchFields: [here] }] }
    }
    // Validation allows one term.
    const [term] = nodeSelector?.nodeSelectorTerms ?? []
    addNew(term?.matchFields, matchFields)
    addNew(term?.matchExpressions, matchExpressions)
  }
  if (matchFields.length + matchExpressions.length === 0) return undefined
  return {
    nodeSelectorTerms: [
      {
        ...(matchExpressions.length > 0 ? { matchExpressions } : {}),
        ...(matchFields.length > 0 ? { matchFields } : {}),
      },
    ],
  }
}

const shareOf = (taken: Taken): Partial<AllocatedDevice> => {
  const consumedCapacity = Object.fromEntries([...taken].map(([name, { text }]) => [name, text]))
  return { shareID: randomUUID(), ...(taken.size > 0 ? { consumedCapacity } : {}) }
}

const resultOf = ({ way, pooled, share }: Chosen): AllocatedDevice => {
  const { name: device, bindingConditions, bindingFailureConditions } = pooled.device
  return {
    request: way.name,
    driver: pooled.pool.driver,
    pool: pooled.pool.name,
    device,
    ...(way.asked.adminAccess ? { adminAccess: true } : {}),
    ...(way.asked.tolerations === undefined ? {} : { tolerations: way.asked.tolerations }),
    ...(bindingConditions === undefined ? {} : { bindingConditions }),
    ...(bindingFailureConditions === undefined ? {} : { bindingFailureConditions }),
    ...(share === undefined ? {} : shareOf(share)),
  }
}

export const allocationOf = (
  claim: ResourceClaim,
  found: { chosen: readonly Chosen[]; ways: readonly Alternative[]; node: Node },
): Allocation => {
  const config = configurationOf(claim, found.ways)
  const nodeSelector = nodeSelectorOf(found.chosen, found.node)
  return {
    devices: {
      results: found.chosen.map(resultOf),
      ...(config.length > 0 ? { config } : {}),
    },
    ...(nodeSelector === undefined ? {} : { nodeSelector }),
  }
}
