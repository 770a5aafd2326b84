/**
 * Makes the APIService of each version of a group of custom resources, puts it right when somebody changed it, and takes
 * it away with the last definition. Upstream: crdregistration_controller.go and kube-aggregator's autoregister.
 */

import type { KubeObject } from '#api/object.js'
import { isAlreadyExists, isConflict, isNotFound } from '#client/errors.js'
import type { QueueMetrics } from '#client/queue-metrics.js'
import { WorkQueue, work } from '#client/work-queue.js'
import { jsonEqual } from '#json/object.js'
import type { JsonObject } from '#json/value.js'
import { decodeObject } from '#registry/decode.js'
import type { FollowerDeps } from '#registry/follow-objects.js'
import { internalContext } from '#registry/internal-context.js'
import { listAll } from '#registry/list-all.js'
import type { RequestContext } from '#registry/resource-definition.js'
import type { ResourceTable } from '#registry/resource-table.js'
import type { Store } from '#registry/store.js'
import { customPriority } from '#routes/discovery/documents.js'
import { apiServices } from './aggregator.js'
import { type APIService, managedLabel } from './api-service.js'
import { workLog } from './work-log.js'

const definitions = { group: 'apiextensions.k8s.io', resource: 'customresourcedefinitions' }

interface CustomApiServicesDeps extends FollowerDeps {
  readonly queues: QueueMetrics
  readonly table: ResourceTable
  /** The stored APIServices, and a callback for changes. */
  readonly services: {
    service(name: string): APIService | undefined
    names(): Iterable<string>
    onService(listener: (name: string) => void): () => void
  }
}

const specOf = (name: string): JsonObject => {
  const dot = name.indexOf('.')
  return {
    group: name.slice(dot + 1),
    version: name.slice(0, dot),
    groupPriorityMinimum: customPriority.group,
    versionPriority: customPriority.version,
  }
}

const isManaged = ({ metadata }: KubeObject): boolean => metadata.labels?.[managedLabel] === 'true'

export class CustomApiServices {
  readonly #deps: CustomApiServicesDeps
  readonly #queue: WorkQueue
  readonly #stopping = new AbortController()
  readonly #forget: (() => void)[]
  readonly #working: Promise<void>

  constructor(deps: CustomApiServicesDeps) {
    this.#deps = deps
    const { table, services, queues } = deps
    this.#queue = new WorkQueue({ figures: queues.of('crd_autoregistration_controller') })
    const look = (name: string): void => this.#queue.add(name)
    this.#forget = [
      services.onService(look),
      table.onChange(({ definition: { isCustom, gvr } }) => {
        if (isCustom) look(`${gvr.version}.${gvr.group}`)
      }),
    ]
    for (const { isCustom, gvr } of table) if (isCustom) look(`${gvr.version}.${gvr.group}`)
    for (const name of services.names()) look(name)
    this.#working = work({
      queue: this.#queue,
      workers: 1,
      sync: (name) => this.#sync(name),
      log: workLog('APIService of custom resources', deps.log),
      signal: this.#stopping.signal,
    })
  }

  async stop(): Promise<void> {
    for (const forget of this.#forget) forget()
    this.#stopping.abort()
    await this.#working
  }

  get #store(): Store {
    return this.#deps.storeOf(apiServices)!
  }

  #context(): RequestContext {
    const { clock, storeOf } = this.#deps
    const caller = { signal: this.#stopping.signal }
    return internalContext({ now: clock.now(), caller, stores: storeOf })
  }

  async #sync(name: string): Promise<void> {
    const known = this.#deps.services.service(name)
    const isWanted = this.#isServed(name)
    if (known === undefined) return isWanted ? this.#create(name) : undefined
    if (!isManaged(known)) return
    if (isWanted) return this.#putRight(name, known)
    await this.#remove(name, known)
  }

  #isServed(name: string): boolean {
    for (const { isCustom, gvr } of this.#deps.table)
      if (isCustom && `${gvr.version}.${gvr.group}` === name) return true
    return false
  }

  async #create(name: string): Promise<void> {
    const metadata = { name, labels: { [managedLabel]: 'true' } }
    const { object } = decodeObject(this.#store.definition, { metadata, spec: specOf(name) })
    await this.#store.create(this.#context(), object).catch((error) => {
      // Another server was first.
      if (!isAlreadyExists(error)) throw error
    })
  }

  async #putRight(name: string, known: APIService): Promise<void> {
    const spec = specOf(name)
    if (jsonEqual(known.spec, spec)) return
    await this.#store.update(this.#context(), name, (current) => ({
      ...current!,
      metadata: { ...current!.metadata },
      spec,
    }))
  }

  async #remove(name: string, { metadata: { uid } }: APIService): Promise<void> {
    // Another server may have made it for a definition that this one has not seen yet.
    if (await this.#isDefined(name)) return
    await this.#store.delete(this.#context(), name, { preconditions: { uid } }).catch((error) => {
      if (!isNotFound(error) && !isConflict(error)) throw error
    })
  }

  async #isDefined(name: string): Promise<boolean> {
    const { group, version } = specOf(name)
    const { items } = await listAll(this.#deps.storeOf(definitions)!)
    return items.some(
      ({ object: { spec, metadata } }) =>
        metadata.deletionTimestamp === undefined &&
        spec.group === group &&
        spec.versions.some(
          (one: { name: string; served: boolean }) => one.name === version && one.served,
        ),
    )
  }
}
