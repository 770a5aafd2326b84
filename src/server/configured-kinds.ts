/** The built-in kinds as the options want them. */
import { kindKey } from '#api/group-version.js'
import type { NodePorts } from '#kinds/core/node-ports.js'
import { serviceAllocation } from '#kinds/core/service-allocation.js'
import { kinds } from '#kinds/index.js'
import type { KindDefinition } from '#registry/resource-definition.js'
import { type ServerOptions, serviceClusterIpRangeOf } from './options.js'
import { serviceFamiliesOf } from './service-range.js'

type Configure = (
  kind: KindDefinition,
  options: ServerOptions,
  nodePorts: NodePorts,
) => KindDefinition

/** Lifetimes are whole seconds, and none is for ever. */
const withTtl: Configure = (kind, { eventTtlMs }) =>
  eventTtlMs === undefined
    ? kind
    : { ...kind, ttlSeconds: Math.floor(eventTtlMs / 1000) || undefined }

const configured: Readonly<Record<string, Configure>> = {
  '/v1/Event': withTtl,
  'events.k8s.io/v1/Event': withTtl,
  '/v1/Service': (kind, options, nodePorts) => {
    const families = serviceFamiliesOf(serviceClusterIpRangeOf(options))
    return {
      ...kind,
      strategy: { ...kind.strategy, ...serviceAllocation({ nodePorts, families }) },
    }
  },
}

export const configuredKinds = (options: ServerOptions, nodePorts: NodePorts): KindDefinition[] =>
  kinds.map((kind) => configured[kindKey(kind)]?.(kind, options, nodePorts) ?? kind)
