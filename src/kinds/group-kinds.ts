/** Kinds outside of the core workloads: Services and their kin, quotas, volumes, and every group but apps and batch. */
import type { KindDefinition } from '#registry/resource-definition.js'
import service from './core/service.js'

export const groupKinds: readonly KindDefinition[] = [service]
