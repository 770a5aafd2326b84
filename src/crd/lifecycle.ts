/**
 * What apiextensions' controllers do inside of the API server: names are accepted, the rows of a definition come into
 * the resource table and leave it, and a definition that is deleted takes its objects with it.
 * One definition after the other; every step can be done again.
 */
import { setMaxListeners } from 'node:events'
import { findService } from '#admission/find-service.js'
import { isConditionTrue } from '#api/conditions.js'
import { ApiError } from '#api/errors.js'
import type { GroupResource } from '#api/group-version.js'
import { jsonEqual } from '#api/json-object.js'
import type { PersistedObject } from '#api/object.js'
import { sleep } from '#api/sleep.js'
import { limits } from '#limits'
import { type Follower, type FollowerDeps, followObjects } from '#registry/follow-objects.js'
import { internalContext } from '#registry/internal-context.js'
import type { RequestContext, ResourceDefinition } from '#registry/resource-definition.js'
import type { ResourceTable } from '#registry/resource-table.js'
import { decideNames } from './accept-names.js'
import { approvalCondition } from './api-approval.js'
import { webhookConverter } from './convert-by-webhook.js'
import { customRows } from './custom-rows.js'
import {
  type CustomResourceDefinition,
  cleanupFinalizer,
  type DefinitionCondition,
} from './definition.js'
import { withCondition } from './definition-kind.js'
import {
  completed,
  deleteObjects,
  inProgress,
  neverEstablished,
  release,
} from './finalize-definition.js'

interface LifecycleDeps extends FollowerDeps {
  readonly table: ResourceTable
}

export interface CustomResources {
  /**
   * Brings the rows of a resource into the table that another server may have established a moment ago: whoever saw that
   * there may ask here before the event came.
   */
  lookAgain(resource: GroupResource): Promise<void>
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
  const { signal } = ending
  // Of however many definitions are being emptied, each watches its objects until this fires.
  setMaxListeners(0, signal)
  const lifecycle = new Lifecycle(deps, signal)
  const { done } = await followObjects({ ...deps, signal }, definitions, lifecycle)
  return {
    lookAgain: (resource) => lifecycle.lookAgain(resource),
    stop: async () => {
      ending.abort()
      await done
      await lifecycle.ended()
    },
  }
}

class Lifecycle implements Follower {
  readonly #deps: LifecycleDeps
  readonly #signal: AbortSignal
  /** No request in these gets as far as to what a definition adds (apiserver, pkg/server/handler.go). */
  readonly #builtInGroups: ReadonlySet<string>
  readonly #known = new Map<string, Known>()
  readonly #emptying = new Map<string, Promise<void>>()
  /** Names of definitions whose turn to be synced has not come. */
  readonly #waiting = new Set<string>()
  #syncing: Promise<void> = Promise.resolve()

  constructor(deps: LifecycleDeps, signal: AbortSignal) {
    this.#deps = deps
    this.#signal = signal
    const builtIn = [...deps.table].filter(({ isCustom }) => !isCustom)
    this.#builtInGroups = new Set(builtIn.map(({ gvr }) => gvr.group))
  }

  readonly #context = (namespace?: string): RequestContext => {
    const { clock, storeOf } = this.#deps
    const base = { now: clock.now(), caller: { signal: this.#signal }, stores: storeOf }
    return internalContext(base, namespace)
  }

  replace(objects: readonly PersistedObject[]): void {
    const all = objects as readonly CustomResourceDefinition[]
    const names = new Set(all.map(({ metadata }) => metadata.name))
    for (const [name, { definition }] of [...this.#known])
      if (!names.has(name)) this.#forget(definition)
    for (const definition of all) this.#show(definition)
    for (const { metadata } of all) this.#syncLater(metadata.name)
  }

  /** What is served follows at once: another definition's turn may take as long as the store takes to write. */
  changed(type: string, object: PersistedObject): void {
    const definition = object as CustomResourceDefinition
    if (type === 'DELETED') this.#forget(definition)
    else {
      this.#show(definition)
      this.#syncLater(definition.metadata.name)
    }
  }

  async lookAgain({ group, resource }: GroupResource): Promise<void> {
    const store = this.#deps.storeOf(definitions)!
    try {
      const { object } = await store.get(this.#context(), `${resource}.${group}`)
      this.#show(object as CustomResourceDefinition)
    } catch {
      // There is none; where the store cannot be asked, what is known stays what there is.
    }
  }

  /** Resolves when nothing is being written and no objects are being deleted any more. */
  async ended(): Promise<void> {
    await this.#syncing
    await Promise.all(this.#emptying.values())
  }

  /** What is shown already is not undone by an event that comes late. */
  #isPast({ metadata }: CustomResourceDefinition): boolean {
    const known = this.#known.get(metadata.name)?.definition.metadata
    return (
      known !== undefined &&
      known.uid === metadata.uid &&
      Number(known.resourceVersion) > Number(metadata.resourceVersion)
    )
  }

  /** Brings the rows of a definition into the table as it is now. */
  #show(definition: CustomResourceDefinition): void {
    if (this.#isPast(definition)) return
    const name = definition.metadata.name
    const before = this.#known.get(name)
    // New names that clash with another's take nothing from those that were accepted.
    const isShown = isConditionTrue(definition, 'Established')
    if (before !== undefined && isShown && sameRows(before.definition, definition)) {
      this.#known.set(name, { definition, rows: before.rows })
      return
    }
    const convert =
      definition.spec.conversion?.strategy === 'Webhook'
        ? webhookConverter(definition, (service) => findService(this.#context(), service))
        : undefined
    const isReached = isShown && !this.#builtInGroups.has(definition.spec.group)
    const rows = isReached ? customRows(definition, convert) : []
    const { table } = this.#deps
    // Upstream ends the watches of all versions when what is stored may look another way: its handler begins anew.
    const isNew = before === undefined || !sameStorage(before.definition, definition)
    for (const { gvr } of before?.rows ?? [])
      if (isNew || !rows.some((row) => row.gvr.version === gvr.version)) table.remove(gvr)
    for (const row of rows) table.add(row)
    this.#known.set(name, { definition, rows })
  }

  #forget({ metadata, spec }: CustomResourceDefinition): void {
    const name = metadata.name
    const known = this.#known.get(name)
    if (known?.definition.metadata.uid !== metadata.uid) return
    for (const { gvr } of known?.rows ?? []) this.#deps.table.remove(gvr)
    this.#known.delete(name)
    // Names that it held may now go to somebody who waits for them.
    for (const { definition } of this.#known.values())
      if (definition.spec.group === spec.group) this.#syncLater(definition.metadata.name)
  }

  /** By name: when its turn comes, what counts is what the definition is by then. */
  #syncLater(name: string): void {
    if (this.#waiting.has(name)) return
    this.#waiting.add(name)
    this.#syncing = this.#syncing.then(() => {
      this.#waiting.delete(name)
      const known = this.#known.get(name)
      return known === undefined || this.#signal.aborted ? undefined : this.#sync(known.definition)
    })
  }

  async #sync(definition: CustomResourceDefinition): Promise<void> {
    const { name, deletionTimestamp, finalizers } = definition.metadata
    try {
      const terminates = deletionTimestamp !== undefined
      if (terminates && finalizers?.includes(cleanupFinalizer)) this.#empty(definition)
      // Its names may change until the end; what was never established will not be.
      if (!terminates || isConditionTrue(definition, 'Established'))
        await this.#syncNames(definition)
    } catch (error) {
      // Somebody else changed it or took it away, whose event comes; else the next event or start does it again.
      if (wasChanged(error)) return
      this.#deps.log(`custom resource definition ${name}`, error)
    }
  }

  async #syncNames(definition: CustomResourceDefinition): Promise<void> {
    const others = [...this.#known.values()]
      .map((known) => known.definition)
      .filter((other) => other.metadata.name !== definition.metadata.name)
    const { acceptedNames, namesAccepted, established } = decideNames(definition, others)
    const approval = approvalCondition(definition)
    const { now } = this.#context()
    const changed = await this.#changeStatus(definition, (status) => ({
      ...status,
      conditions: [
        ...(approval === undefined ? [] : [approval]),
        namesAccepted,
        // Another replica may have been faster; what is established stays so.
        status.conditions?.find((c) => c.type === 'Established' && c.status === 'True') ??
          established,
      ].reduce((list, condition) => withCondition(list, condition, now), status.conditions ?? []),
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
    const ctx = { ...this.#context(), subresource: 'status' }
    const { stored } = await store.update(ctx, definition.metadata.name, (current) => {
      const status = (current as CustomResourceDefinition).status!
      return { ...current!, status: change(status) }
    })
    const changed = stored.object as CustomResourceDefinition
    // Gone by now, or another of the same name.
    if (this.#known.get(definition.metadata.name)?.definition.metadata.uid === changed.metadata.uid)
      this.#show(changed)
    return changed
  }

  /** Deletes the objects of a terminating definition, waits for their finalizers, then lets the definition go. */
  #empty(definition: CustomResourceDefinition): void {
    const name = definition.metadata.name
    if (this.#emptying.has(name)) return
    const { uid } = definition.metadata
    const isWanted = () => {
      const known = this.#known.get(name)?.definition
      const terminates = known?.metadata.finalizers?.includes(cleanupFinalizer)
      return known?.metadata.uid === uid && terminates && !this.#signal.aborted ? known : undefined
    }
    const work = this.#emptyWhile(isWanted).finally(() => this.#emptying.delete(name))
    this.#emptying.set(name, work)
  }

  /** Tries until it is done: upstream's finalizer comes back to what has failed, too, or has taken longer than a minute. */
  async #emptyWhile(isWanted: () => CustomResourceDefinition | undefined): Promise<void> {
    for (let definition = isWanted(); definition !== undefined; definition = isWanted()) {
      try {
        const outcome = await this.#emptyOnce(definition)
        if (this.#signal.aborted) return
        if (outcome.status === 'False') {
          const store = this.#deps.storeOf(definitions)!
          return await release(store, definition, outcome, this.#context)
        }
        await this.#tell(definition, outcome)
      } catch (error) {
        if (!wasChanged(error))
          this.#deps.log(`objects of ${definition.metadata.name} could not be deleted`, error)
      }
      await sleep(limits.retryMs, this.#signal, { ref: false })
    }
  }

  async #emptyOnce(definition: CustomResourceDefinition): Promise<DefinitionCondition> {
    const { group, names } = definition.spec
    await this.#tell(definition, inProgress)
    if (!isConditionTrue(definition, 'Established')) return neverEstablished
    // The objects of that name are not its own.
    if (this.#builtInGroups.has(group)) return completed
    const store = this.#deps.storeOf({ group, resource: names.plural })
    return store === undefined ? neverEstablished : deleteObjects(store, this.#context)
  }

  #tell(
    definition: CustomResourceDefinition,
    condition: DefinitionCondition,
  ): Promise<CustomResourceDefinition | undefined> {
    return this.#changeStatus(definition, (status) => ({
      ...status,
      conditions: withCondition(status.conditions, condition, this.#deps.clock.now()),
    }))
  }
}

/** By somebody else, or taken away. */
const wasChanged = (error: unknown): boolean =>
  error instanceof ApiError && (error.code === 409 || error.code === 404)

const sameStorage = (a: CustomResourceDefinition, b: CustomResourceDefinition): boolean =>
  jsonEqual(a.spec, b.spec) && jsonEqual(a.status?.acceptedNames, b.status?.acceptedNames)

/** Rows follow from spec, accepted names and whether the definition is established or terminates. */
const sameRows = (a: CustomResourceDefinition, b: CustomResourceDefinition): boolean =>
  (a.metadata.deletionTimestamp === undefined) === (b.metadata.deletionTimestamp === undefined) &&
  sameStorage(a, b) &&
  isConditionTrue(a, 'Established') === isConditionTrue(b, 'Established') &&
  isConditionTrue(a, 'Terminating') === isConditionTrue(b, 'Terminating')
