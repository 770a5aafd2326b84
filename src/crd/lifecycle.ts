/**
 * Does the work of apiextensions' controllers inside the API server: accepts names, adds and removes the rows of
 * definitions in the resource table, and deletes the objects of a deleted definition. One definition at a time; every
 * step can be repeated.
 */
import { setMaxListeners } from 'node:events'
import type https from 'node:https'
import { findService } from '#admission/find-service.js'
import { isConditionTrue } from '#api/conditions.js'
import { ApiError, internalError } from '#api/errors.js'
import type { GroupResource, GroupVersionResource } from '#api/group-version.js'
import type { PersistedObject } from '#api/object.js'
import { withOwnSignal } from '#async/own-signal.js'
import { sleep } from '#async/sleep.js'
import { jsonEqual } from '#json/object.js'
import { limits } from '#limits'
import { type Follower, type FollowerDeps, followObjects } from '#registry/follow-objects.js'
import { internalContext } from '#registry/internal-context.js'
import type { RequestContext, ResourceDefinition } from '#registry/resource-definition.js'
import type { ResourceTable } from '#registry/resource-table.js'
import type { Store } from '#registry/store.js'
import { type Converter, webhookConverter } from './convert-by-webhook.js'
import { customRows, storedRow } from './custom-rows.js'
import { decideNames } from './definition/accept-names.js'
import { approvalCondition } from './definition/api-approval.js'
import { caBundleProblem } from './definition/ca-bundle.js'
import {
  type CustomResourceDefinition,
  cleanupFinalizer,
  type DefinitionCondition,
} from './definition/definition.js'
import { withCondition } from './definition/definition-kind.js'
import {
  completed,
  deleteObjects,
  inProgress,
  neverEstablished,
  release,
} from './finalize-definition.js'

interface LifecycleDeps extends FollowerDeps {
  readonly table: ResourceTable
  /** The store of a row that need not be in the table. */
  readonly storeOfRow: (row: ResourceDefinition) => Store
  readonly webhookAgent: https.Agent
}

export interface CustomResources {
  /**
   * Adds the rows of a definition that another server may just have established: a client that saw it there may come here
   * before the event does. Throws for one that has its names and can never be served.
   */
  lookAgain(resource: GroupVersionResource): Promise<void>
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
  // Each definition that is being emptied listens to this signal, however many there are.
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
  /** Requests in these groups never reach custom resources (apiserver, pkg/server/handler.go). */
  readonly #builtInGroups: ReadonlySet<string>
  readonly #known = new Map<string, Known>()
  /** By name of a terminating definition: stops the deletion of its objects. */
  readonly #emptying = new Map<string, () => void>()
  readonly #works = new Set<Promise<void>>()
  /** Names of definitions that are queued for a sync. */
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

  /** The table follows at once, not in the queue: the sync of another definition may wait for the store. */
  changed(type: string, object: PersistedObject): void {
    const definition = object as CustomResourceDefinition
    if (type === 'DELETED') this.#forget(definition)
    else {
      this.#show(definition)
      this.#syncLater(definition.metadata.name)
    }
  }

  async lookAgain({ group, version, resource }: GroupVersionResource): Promise<void> {
    const store = this.#deps.storeOf(definitions)!
    let definition: CustomResourceDefinition
    try {
      const { object } = await store.get(this.#context(), `${resource}.${group}`)
      definition = object as CustomResourceDefinition
    } catch (error) {
      // There is no such definition, or the store cannot be asked: the table stays as it is.
      if (error instanceof ApiError) return
      throw error
    }
    this.#show(definition)
    // Upstream serves a definition as soon as its names are accepted, and then cannot make its converter.
    const isServed = definition.spec.versions.some((v) => v.name === version && v.served)
    if (
      isServed &&
      isConditionTrue(definition, 'NamesAccepted') &&
      caBundleProblem(definition) !== undefined
    )
      throw internalError('error resolving resource')
  }

  /** Resolves when nothing is being written and no objects are being deleted any more. */
  async ended(): Promise<void> {
    await this.#syncing
    await Promise.all(this.#works)
  }

  /** Whether a newer version of the definition is in the table already. */
  #isPast({ metadata }: CustomResourceDefinition): boolean {
    const known = this.#known.get(metadata.name)?.definition.metadata
    return (
      known !== undefined &&
      known.uid === metadata.uid &&
      Number(known.resourceVersion) > Number(metadata.resourceVersion)
    )
  }

  /** Updates the rows of a definition in the table. */
  #show(definition: CustomResourceDefinition): void {
    if (this.#isPast(definition)) return
    const { name, deletionTimestamp } = definition.metadata
    if (deletionTimestamp === undefined) this.#leave(name)
    const before = this.#known.get(name)
    // Even if new names clash with another definition's, the accepted ones stay served.
    const isShown = isConditionTrue(definition, 'Established')
    if (before !== undefined && isShown && sameRows(before.definition, definition)) {
      this.#known.set(name, { definition, rows: before.rows })
      return
    }
    const isReached = isShown && !this.#builtInGroups.has(definition.spec.group)
    // Upstream ends the watches of all versions when stored objects may be shown differently, because it makes a new
    // handler.
    const isNew = before === undefined || !sameStorage(before.definition, definition)
    const shownSince = isNew ? undefined : before.rows[0]?.shownSince
    const rows = isReached ? customRows(definition, this.#converter(definition), shownSince) : []
    const { table } = this.#deps
    for (const { gvr } of before?.rows ?? [])
      if (isNew || !rows.some((row) => row.gvr.version === gvr.version)) table.remove(gvr)
    for (const row of rows) table.add(row)
    this.#known.set(name, { definition, rows })
  }

  #converter(definition: CustomResourceDefinition): Converter | undefined {
    return definition.spec.conversion?.strategy === 'Webhook'
      ? webhookConverter(definition, {
          findService: (service) => findService(this.#context(), service),
          agent: this.#deps.webhookAgent,
        })
      : undefined
  }

  #forget({ metadata, spec }: CustomResourceDefinition): void {
    const name = metadata.name
    const known = this.#known.get(name)
    if (known?.definition.metadata.uid !== metadata.uid) return
    for (const { gvr } of known?.rows ?? []) this.#deps.table.remove(gvr)
    this.#known.delete(name)
    this.#leave(name)
    this.#syncGroupLater(spec.group)
  }

  /** Queued by name, so that the sync sees the newest version. */
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
      // Names are synced even while it terminates, unless it was never established.
      if (!terminates || isConditionTrue(definition, 'Established'))
        await this.#syncNames(definition)
    } catch (error) {
      // If somebody else has changed or deleted it, that event will come.
      if (wasChanged(error)) return
      this.#deps.log(`custom resource definition ${name}`, error)
      const pause = sleep(limits.retryMs, this.#signal, { ref: false })
      void pause.then(() => this.#syncLater(name))
    }
  }

  async #syncNames(definition: CustomResourceDefinition): Promise<void> {
    const { group } = definition.spec
    const { acceptedNames, namesAccepted, established } = decideNames(definition, () =>
      this.#ofGroup(group),
    )
    const approval = approvalCondition(definition)
    const { now } = this.#context()
    const changed = await this.#changeStatus(definition, (status) => ({
      ...status,
      conditions: [
        approval,
        namesAccepted,
        // Another server may have been faster: an established definition stays so.
        status.conditions?.find((c) => c.type === 'Established' && c.status === 'True') ??
          established,
      ]
        .filter((condition) => condition !== undefined)
        .reduce((list, condition) => withCondition(list, condition, now), status.conditions ?? []),
      acceptedNames,
    }))
    if (changed === undefined) return
    // It may have given up a name.
    if (!jsonEqual(acceptedNames, definition.status!.acceptedNames)) this.#syncGroupLater(group)
    if (established?.reason === 'Installing') await this.#syncNames(changed)
  }

  #ofGroup(group: string): CustomResourceDefinition[] {
    return [...this.#known.values()]
      .map(({ definition }) => definition)
      .filter(({ spec }) => spec.group === group)
  }

  /** Another definition may be waiting for the names of one that is gone or has changed its own. */
  #syncGroupLater(group: string): void {
    for (const { metadata } of this.#ofGroup(group)) this.#syncLater(metadata.name)
  }

  async #changeStatus(
    definition: CustomResourceDefinition,
    change: (
      status: NonNullable<CustomResourceDefinition['status']>,
      current: CustomResourceDefinition,
    ) => CustomResourceDefinition['status'],
  ): Promise<CustomResourceDefinition | undefined> {
    const next = change(definition.status!, definition)
    if (jsonEqual(next, definition.status)) return undefined
    const store = this.#deps.storeOf(definitions)!
    const ctx = { ...this.#context(), subresource: 'status' }
    const { stored } = await store.update(ctx, definition.metadata.name, (current) => {
      const stored = current as CustomResourceDefinition
      return { ...stored, status: change(stored.status!, stored) }
    })
    const changed = stored.object as CustomResourceDefinition
    // It may be gone by now, or be another one of the same name.
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
      return known?.metadata.uid === uid && terminates ? known : undefined
    }
    const work = withOwnSignal(this.#signal, (own) => {
      this.#emptying.set(name, () => own.abort())
      return this.#emptyWhile(isWanted, own.signal)
    }).finally(() => this.#works.delete(work))
    this.#works.add(work)
  }

  /** Called when the definition is gone, or was restored: its objects must not be deleted any more. */
  #leave(name: string): void {
    this.#emptying.get(name)?.()
    this.#emptying.delete(name)
  }

  /** Retries until it is done, as upstream's finalizer does after errors and after a minute of waiting. */
  async #emptyWhile(
    isWanted: () => CustomResourceDefinition | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    for (
      let definition = isWanted();
      definition !== undefined && !signal.aborted;
      definition = isWanted()
    ) {
      try {
        const outcome = await this.#emptyOnce(definition, signal)
        if (signal.aborted) return
        if (outcome.status === 'False') {
          const store = this.#deps.storeOf(definitions)!
          return await release(store, definition, outcome, this.#context)
        }
        await this.#tell(definition, outcome)
      } catch (error) {
        if (!wasChanged(error))
          this.#deps.log(`objects of ${definition.metadata.name} could not be deleted`, error)
      }
      await sleep(limits.retryMs, signal, { ref: false })
    }
  }

  async #emptyOnce(
    definition: CustomResourceDefinition,
    signal: AbortSignal,
  ): Promise<DefinitionCondition> {
    const { metadata, spec } = definition
    await this.#tell(definition, inProgress)
    if (!isConditionTrue(definition, 'Established')) return neverEstablished
    // Objects of this name belong to a built-in resource.
    if (this.#builtInGroups.has(spec.group)) return completed
    // As they are stored, as upstream: perhaps no version is served any more, and a webhook converts none of them.
    const store = this.#deps.storeOfRow(storedRow(definition, this.#converter(definition)))
    const asServer = (namespace?: string) => ({ ...this.#context(namespace), caller: { signal } })
    return deleteObjects(store, asServer, async () => {
      const { object } = await this.#deps.storeOf(definitions)!.get(asServer(), metadata.name)
      return object.metadata.deletionTimestamp !== undefined
    })
  }

  #tell(
    definition: CustomResourceDefinition,
    condition: DefinitionCondition,
  ): Promise<CustomResourceDefinition | undefined> {
    return this.#changeStatus(definition, (status, { metadata }) =>
      // It was restored from a snapshot meanwhile.
      metadata.deletionTimestamp === undefined
        ? status
        : {
            ...status,
            conditions: withCondition(status.conditions, condition, this.#deps.clock.now()),
          },
    )
  }
}

/** Changed by somebody else, or deleted. */
const wasChanged = (error: unknown): boolean =>
  error instanceof ApiError && (error.code === 409 || error.code === 404)

const sameStorage = (a: CustomResourceDefinition, b: CustomResourceDefinition): boolean =>
  jsonEqual(a.spec, b.spec) && jsonEqual(a.status?.acceptedNames, b.status?.acceptedNames)

/** Rows depend on the spec, the accepted names, and whether the definition is established or terminating. */
const sameRows = (a: CustomResourceDefinition, b: CustomResourceDefinition): boolean =>
  (a.metadata.deletionTimestamp === undefined) === (b.metadata.deletionTimestamp === undefined) &&
  sameStorage(a, b) &&
  isConditionTrue(a, 'Established') === isConditionTrue(b, 'Established') &&
  isConditionTrue(a, 'Terminating') === isConditionTrue(b, 'Terminating')
