/** What the API routes need, and what a handler is told about the route that it serves. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '#api/clock.js'
import type { GroupVersionResource } from '#api/group-version.js'
import type { FieldManager } from '#registry/field-manager/field-manager.js'
import type { ResourceDefinition, Subresource } from '#registry/resource-definition.js'
import type { ResourceTable } from '#registry/resource-table.js'
import type { Store } from '#registry/store.js'
import type { Stores } from '#registry/stores.js'
import type { YamlAnswer } from '#registry/yaml/reader.js'
import type { Upgrade } from './forward.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** The Content-Type header as it came; empty when there was none. */
    bodyType: string
    /** A large YAML body, which is parsed before the handler runs. */
    yaml: YamlAnswer | undefined
  }
}

export interface ApiDeps {
  readonly table: ResourceTable
  readonly stores: Stores
  readonly clock: Clock
  /** Adds rows for a custom resource that another server has established and whose event has not come yet. */
  readonly lookAgain: (resource: GroupVersionResource) => Promise<void>
  readonly fieldManagerOf: (definition: ResourceDefinition) => FieldManager
  /** Throws forbidden unless the user may also create. For updates that create. */
  readonly authorizeCreate: (request: FastifyRequest) => Promise<void>
  /** Shortest duration of a watch without timeoutSeconds. */
  readonly watchTimeoutMinMs: number
  /** Logs an error that came after the answer had begun. */
  readonly report: (about: { err: unknown; url: string }, message: string) => void
  /** The connection of a request that asks for another protocol. */
  readonly upgradeOf: (request: FastifyRequest) => Upgrade | undefined
  readonly kubelets: KubeletAccess
}

/** How kubelets are asked. */
export interface KubeletAccess {
  /** What they are shown. */
  readonly client: () => { readonly certPem: string; readonly keyPem: string }
  /** PEM of who signs their certificates; undefined: anybody. */
  readonly authority: () => string | undefined
  /** Which of a node's addresses is taken: the first type that it has. */
  readonly addressTypes: readonly string[]
}

/** What a request is about: resource, subresource, namespace and name. */
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
