/** What the API routes need, and what a handler is told about the route that it serves. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '#api/clock.js'
import type { GroupResource } from '#api/group-version.js'
import type { FieldManager } from '#registry/field-manager/field-manager.js'
import type { ResourceDefinition, Subresource } from '#registry/resource-definition.js'
import type { ResourceTable } from '#registry/resource-table.js'
import type { Store } from '#registry/store.js'
import type { Stores } from '#registry/stores.js'
import type { YamlAnswer } from '#registry/yaml-reader.js'
import type { Upgrade } from './forward.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** The Content-Type header as it came; empty when there was none. */
    bodyType: string
    /** What a large body of YAML says, which was read before the handler looks at it. */
    yaml: YamlAnswer | undefined
  }
}

export interface ApiDeps {
  readonly table: ResourceTable
  readonly stores: Stores
  readonly clock: Clock
  /** Brings into the table what another server has begun to serve and no event has told of yet. */
  readonly lookAgain: (resource: GroupResource) => Promise<void>
  readonly fieldManagerOf: (definition: ResourceDefinition) => FieldManager
  /** Throws forbidden unless the user may also create: for an update that would. */
  readonly authorizeCreate: (request: FastifyRequest) => Promise<void>
  /** How long a watch lasts at least that names no time. */
  readonly watchTimeoutMinMs: number
  /** Told of what failed when its answer was on its way. */
  readonly report: (about: { err: unknown; url: string }, message: string) => void
  /** The connection of a request that asks for another protocol. */
  readonly upgradeOf: (request: FastifyRequest) => Upgrade | undefined
  /** What nodes know the API server by. */
  readonly kubeletClient: () => { readonly certPem: string; readonly keyPem: string }
}

/** One request's aim: resource, subresource, namespace and name. */
export interface Target {
  readonly definition: ResourceDefinition
  readonly store: Store
  /** Empty string for the main resource; `status`; else the name of `view`. */
  readonly subresource: string
  readonly view: Subresource | undefined
  /** Undefined at the cluster scope, and for a list across namespaces. */
  readonly namespace: string | undefined
  /** Empty for a collection. */
  readonly name: string
}

export type VerbHandler = (
  target: Target,
  request: FastifyRequest,
  reply: FastifyReply,
  deps: ApiDeps,
) => unknown
