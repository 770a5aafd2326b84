/**
 * What apiextensions' controllers do inside of the API server: names are accepted, the rows of a definition come into
 * the resource table and leave it, and a definition that is deleted takes its objects with it.
 * One loop over the watch of definitions; every step can be done again.
 */
import { setTimeout } from 'node:timers/promises'
import { findService } from '#admission/find-service.js'
import type { Clock } from '#api/clock.js'
import { ApiError } from '#api/errors.js'
import type { GroupResource } from '#api/group-version.js'
import { jsonEqual } from '#api/json-object.js'
import type { KubeObject } from '#api/object.js'
import { limits } from '#limits'
import { internalContext } from '#registry/internal-context.js'
import type { RequestContext, ResourceDefinition } from '#registry/resource-definition.js'
import type { ResourceTable } from '#registry/resource-table.js'
import type { Store } from '#registry/store.js'
import { decideNames } from './accept-names.js'
import { webhookConverter } from './convert-by-webhook.js'
import { customRows } from './custom-rows.js'
import { type CustomResourceDefinition, cleanupFinalizer, isTrue } from './definition.js'
import { withCondition } from './definition-kind.js'
import { deleteObjects, removeFinalizer } from './finalize-definition.js'

export interface LifecycleDeps {
  readonly table: ResourceTable
  /** The store of the version that storage holds. */
  readonly storeOf: (resource: GroupResource) => Store | undefined
  readonly clock: Clock
  readonly log: (message: string, error?: unknown) => void
}

export interface CustomResources {
  /** Ends the loop; resolves when it has ended. */
  stop(): Promise<void>
}

const definitions: GroupResource = {
  group: 'apiextensions.k8s.io',
  resource: 'customresourcedefinitions',
}

interface Known {
  definition: CustomResourceDefinition
  rows: readonly ResourceDefinition[]
}

/** The rows of every established definition are in the table when this resolves. */
export const startCustomResources = async (deps: LifecycleDeps): Promise<CustomResources> => {
  const ending = new AbortController()
  const lifecycle = new Lifecycle(deps, ending.signal)
  const store = deps.storeOf(definitions)!
  const selection = { prefix: `${store.definition.storagePrefix}/` }
  const ctx = lifecycle.context()
  const first = await store.list(ctx, { selection, consistency: { kind: 'consistent' }, limit: 0 })
  for (const { object } of first.items) lifecycle.show(object as CustomResourceDefinition)
  for (const { object } of first.items) await lifecycle.sync(object as CustomResourceDefinition)
  const loop = lifecycle.follow(first.revision)
  return {
    stop: async () => {
      ending.abort()
      await loop
    },
  }
}

class Lifecycle {
  readonly #deps: LifecycleDeps
  readonly #signal: AbortSignal
  readonly #known = new Map<string, Known>()
  readonly #emptying = new Map<string, Promise<void>>()

  constructor(deps: LifecycleDeps, signal: AbortSignal) {
    this.#deps = deps
    this.#signal = signal
  }

  readonly context = (namespace?: string): RequestContext => {
    const { clock, storeOf } = this.#deps
    const base = { now: clock.now(), caller: { signal: this.#signal }, stores: storeOf }
    return internalContext(base, namespace)
  }

  async follow(after: number): Promise<void> {
    const signal = this.#signal
    let revision: number | undefined = after
    while (!signal.aborted) {
      try {
        revision = await this.#followOnce(revision ?? (await this.#listAgain()))
      } catch (error) {
        if (signal.aborted) return
        this.#deps.log('the watch of custom resource definitions starts again', error)
        revision = undefined
        await setTimeout(limits.retryMs, undefined, { signal, ref: false }).catch(() => {})
      }
    }
    await Promise.all(this.#emptying.values())
  }

  async #followOnce(after: number): Promise<number> {
    const store = this.#deps.storeOf(definitions)!
    const selection = { prefix: `${store.definition.storagePrefix}/` }
    let revision = after
    const watch = store.watch(this.context(), { selection, after, signal: this.#signal })
    for await (const batch of watch) {
      for (const event of batch.events) {
        const definition = event.stored.object as CustomResourceDefinition
        if (event.type === 'DELETED') await this.#forget(definition)
        else if (!this.#isPast(definition)) {
          this.show(definition)
          await this.#trySync(definition)
        }
      }
      revision = batch.revision
    }
    return revision
  }

  /** An event of a write of our own after which we have written again must not undo what is shown. */
  #isPast({ metadata }: CustomResourceDefinition): boolean {
    const known = this.#known.get(metadata.name!)?.definition.metadata
    return (
      known !== undefined &&
      known.uid === metadata.uid &&
      Number(known.resourceVersion) > Number(metadata.resourceVersion)
    )
  }

  async #listAgain(): Promise<number> {
    const store = this.#deps.storeOf(definitions)!
    const selection = { prefix: `${store.definition.storagePrefix}/` }
    const page = await store.list(this.context(), {
      selection,
      consistency: { kind: 'consistent' },
      limit: 0,
    })
    const names = new Set(page.items.map(({ object }) => object.metadata.name))
    for (const [name, { definition }] of [...this.#known])
      if (!names.has(name)) await this.#forget(definition)
    for (const { object } of page.items) {
      this.show(object as CustomResourceDefinition)
      await this.#trySync(object as CustomResourceDefinition)
    }
    return page.revision
  }

  /** Brings the rows of a definition into the table as it is now. */
  show(definition: CustomResourceDefinition): void {
    const name = definition.metadata.name!
    const before = this.#known.get(name)
    const isShown = isTrue(definition, 'Established') && isTrue(definition, 'NamesAccepted')
    if (before !== undefined && isShown && sameRows(before.definition, definition)) {
      this.#known.set(name, { definition, rows: before.rows })
      return
    }
    const convert =
      definition.spec.conversion?.strategy === 'Webhook'
        ? webhookConverter(definition, (service) => findService(this.context(), service))
        : undefined
    const rows = isShown ? customRows(definition, convert) : []
    const { table } = this.#deps
    for (const { gvr } of before?.rows ?? [])
      if (!rows.some((row) => row.gvr.version === gvr.version)) table.remove(gvr)
    for (const row of rows) table.add(row)
    this.#known.set(name, { definition, rows })
  }

  async #forget(definition: CustomResourceDefinition): Promise<void> {
    const name = definition.metadata.name!
    for (const { gvr } of this.#known.get(name)?.rows ?? []) this.#deps.table.remove(gvr)
    this.#known.delete(name)
    // Names that it held may now go to somebody who waits for them.
    for (const other of [...this.#known.values()])
      if (other.definition.spec.group === definition.spec.group)
        await this.#trySync(other.definition)
  }

  async #trySync(definition: CustomResourceDefinition): Promise<void> {
    try {
      await this.sync(definition)
    } catch (error) {
      // A conflict is another writer's change, whose event comes; else the next event or start does it again.
      if (error instanceof ApiError && error.code === 409) return
      this.#deps.log(`custom resource definition ${definition.metadata.name}`, error)
    }
  }

  async sync(definition: CustomResourceDefinition): Promise<void> {
    if (definition.metadata.deletionTimestamp === undefined) await this.#syncNames(definition)
    else if (definition.metadata.finalizers?.includes(cleanupFinalizer)) this.#empty(definition)
  }

  async #syncNames(definition: CustomResourceDefinition): Promise<void> {
    const others = [...this.#known.values()]
      .map((known) => known.definition)
      .filter((other) => other.metadata.name !== definition.metadata.name)
    const { acceptedNames, namesAccepted, established } = decideNames(definition, others)
    const { now } = this.context()
    const changed = await this.#changeStatus(definition, (status) => ({
      ...status,
      conditions: withCondition(
        withCondition(status.conditions, namesAccepted, now),
        // Another replica may have been faster; what is established stays so.
        status.conditions?.find((c) => c.type === 'Established' && c.status === 'True') ??
          established,
        now,
      ),
      acceptedNames,
    }))
    if (changed !== undefined && established.reason === 'Installing') await this.#syncNames(changed)
  }

  async #changeStatus(
    definition: CustomResourceDefinition,
    change: (
      status: NonNullable<CustomResourceDefinition['status']>,
    ) => CustomResourceDefinition['status'],
  ): Promise<CustomResourceDefinition | undefined> {
    const next = change(definition.status!)
    if (jsonEqual(next, definition.status)) return undefined
    const store = this.#deps.storeOf(definitions)!
    const ctx = { ...this.context(), subresource: 'status' }
    const { stored } = await store.update(ctx, definition.metadata.name!, (current) => {
      const status = (current as CustomResourceDefinition).status!
      return { ...current!, status: change(status) } as KubeObject
    })
    const changed = stored.object as CustomResourceDefinition
    this.show(changed)
    return changed
  }

  /** Deletes the objects of a terminating definition, waits for their finalizers, then lets the definition go. */
  #empty(definition: CustomResourceDefinition): void {
    const name = definition.metadata.name!
    if (this.#emptying.has(name)) return
    const work = this.#emptyOnce(definition)
      .catch((error) => this.#deps.log(`objects of ${name} could not be deleted`, error))
      .finally(() => this.#emptying.delete(name))
    this.#emptying.set(name, work)
  }

  async #emptyOnce(definition: CustomResourceDefinition): Promise<void> {
    const { group, names } = definition.spec
    const store = this.#deps.storeOf({ group, resource: names.plural })
    if (store !== undefined && isTrue(definition, 'Established')) {
      await this.#terminating(
        definition,
        'InstanceDeletionInProgress',
        'CustomResource deletion is in progress',
      )
      await deleteObjects(store, this.context)
    }
    if (this.#signal.aborted) return
    await removeFinalizer(this.#deps.storeOf(definitions)!, definition, this.context)
  }

  async #terminating(
    definition: CustomResourceDefinition,
    reason: string,
    message: string,
  ): Promise<void> {
    await this.#changeStatus(definition, (status) => ({
      ...status,
      conditions: withCondition(
        status.conditions,
        { type: 'Terminating', status: 'True', reason, message },
        this.#deps.clock.now(),
      ),
    }))
  }
}

/** Rows follow from spec, accepted names and whether the definition terminates. */
const sameRows = (a: CustomResourceDefinition, b: CustomResourceDefinition): boolean =>
  (a.metadata.deletionTimestamp === undefined) === (b.metadata.deletionTimestamp === undefined) &&
  jsonEqual(a.spec, b.spec) &&
  jsonEqual(a.status?.acceptedNames, b.status?.acceptedNames) &&
  isTrue(a, 'Established') === isTrue(b, 'Established') &&
  isTrue(a, 'NamesAccepted') === isTrue(b, 'NamesAccepted')
