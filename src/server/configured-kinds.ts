/** The built-in kinds as the options want them. */
import { kindKey } from '#api/group-version.js'
import { serviceAllocation } from '#kinds/core/service-allocation.js'
import { kinds } from '#kinds/index.js'
import type { KindDefinition } from '#registry/resource-definition.js'
import type { ServerOptions } from './options.js'
import { nodePortRangeOf } from './service-range.js'

type Configure = (kind: KindDefinition, options: ServerOptions) => KindDefinition

/** Lifetimes are whole seconds, and none is for ever. */
const withTtl: Configure = (kind, { eventTtlMs }) =>
  eventTtlMs === undefined
    ? kind
    : { ...kind, ttlSeconds: Math.floor(eventTtlMs / 1000) || undefined }

const configured: Readonly<Record<string, Configure>> = {
  '/v1/Event': withTtl,
  'events.k8s.io/v1/Event': withTtl,
  '/v1/Service': (kind, options) => ({
    ...kind,
    strategy: { ...kind.strategy, ...serviceAllocation(nodePortRangeOf(options)) },
  }),
}

export const configuredKinds = (options: ServerOptions): KindDefinition[] =>
  kinds.map((kind) => configured[kindKey(kind)]?.(kind, options) ?? kind)
