/**
 * Follows APIServices: keeps the condition Available of each, and the discovery of those that another server serves.
 * Upstream's kube-aggregator: availability, discovery and OpenAPI controllers.
 */

import type { KubeObject } from '#api/object.js'
import type { QueueMetrics } from '#client/queue-metrics.js'
import { WorkQueue, work } from '#client/work-queue.js'
import { jsonEqual } from '#json/object.js'
import type { JsonObject } from '#json/value.js'
import { limits } from '#limits'
import { type FollowerDeps, followObjects } from '#registry/follow-objects.js'
import { internalContext } from '#registry/internal-context.js'
import type { RequestContext } from '#registry/resource-definition.js'
import type {
  RemoteDocument,
  RemoteSource,
  RemoteVersion,
} from '#routes/discovery/remote-versions.js'
import type { ApiServiceFigures } from '#routes/metrics/metric-families.js'
import { type APIService, isAvailable, statusWith } from './api-service.js'
import { checkAvailability, isKnownLocal } from './availability.js'
import { Backends } from './backends.js'
import { readDiscovery, readOpenApiIndex } from './remote-discovery.js'
import { RemoteOpenApi } from './remote-openapi.js'
import { workLog } from './work-log.js'

export const apiServices = { group: 'apiregistration.k8s.io', resource: 'apiservices' }

/** Objects that change with a backend, and how they name its Service. */
const backendObjects = [
  {
    resource: { group: '', resource: 'services' },
    serviceOf: ({ metadata }: KubeObject) => metadata.name,
  },
  {
    resource: { group: 'discovery.k8s.io', resource: 'endpointslices' },
    serviceOf: ({ metadata }: KubeObject) => metadata.labels?.['kubernetes.io/service-name'],
  },
]

interface AggregatorDeps extends FollowerDeps {
  readonly queues: QueueMetrics
  readonly proxyClient: () => { readonly certPem: string; readonly keyPem: string }
}

/** An APIService and what is known of the server behind it. */
interface Remote {
  service: APIService
  /** In the form of aggregated discovery; undefined where the last read of them failed, or there was none. */
  resources: JsonObject[] | undefined
  /** Whether the last read of them succeeded. */
  isCurrent: boolean
  openApi: ReadonlyMap<string, string>
}

export class Aggregator implements RemoteSource, ApiServiceFigures {
  readonly backends: Backends
  readonly #openApiV2: RemoteOpenApi
  readonly #unavailableTotals = new Map<string, { name: string; reason: string; value: number }>()
  readonly #deps: AggregatorDeps
  readonly #stopping = new AbortController()
  readonly #all = new Map<string, APIService>()
  readonly #remotes = new Map<string, Remote>()
  readonly #checks: WorkQueue
  readonly #readings: WorkQueue
  readonly #listeners = new Set<() => void>()
  readonly #serviceListeners = new Set<(name: string) => void>()
  readonly #followed: Promise<void>[] = []
  /** Ends the watch of what is behind them; undefined while there is none. */
  #backendsStopping: AbortController | undefined

  constructor(deps: AggregatorDeps) {
    this.#deps = deps
    this.#checks = new WorkQueue({
      backoffBaseMs: 5,
      backoffMaxMs: limits.apiServiceCheckIntervalMs,
      figures: deps.queues.of('RemoteAvailabilityController'),
    })
    this.#readings = new WorkQueue({
      backoffBaseMs: 500,
      backoffMaxMs: limits.aggregatedDiscoveryIntervalMs,
      figures: deps.queues.of('discovery-manager'),
    })
    this.backends = new Backends({
      proxyClient: deps.proxyClient,
      context: () => this.#context(),
      signal: this.#stopping.signal,
    })
    this.#openApiV2 = new RemoteOpenApi(this.backends)
  }

  /** Resolves when every APIService is known; checks of what is behind them go on. */
  async start(): Promise<void> {
    const { done } = await followObjects(
      { ...this.#deps, signal: this.#stopping.signal },
      apiServices,
      {
        replace: (objects) => this.#replace(objects as APIService[]),
        changed: (type, object) =>
          type === 'DELETED'
            ? this.#forget(object.metadata.name)
            : this.#know(object as APIService),
      },
    )
    this.#followed.push(
      done,
      this.#work(this.#checks, 'availability', (name) => this.#check(name)),
      this.#work(this.#readings, 'discovery', (name) => this.#read(name)),
    )
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    this.#backendsStopping?.abort()
    this.backends.close()
    await Promise.all(this.#followed)
  }

  service(name: string): APIService | undefined {
    return this.#all.get(name)
  }

  names(): Iterable<string> {
    return this.#all.keys()
  }

  /** `listener` is called for each APIService that was added, changed or deleted. */
  onService(listener: (name: string) => void): () => void {
    this.#serviceListeners.add(listener)
    return () => this.#serviceListeners.delete(listener)
  }

  /** The APIService that answers for a path, when another server does. */
  find(path: string): Remote | undefined {
    if (this.#remotes.size === 0) return undefined
    const [, root, ...parts] = path.split('/')
    if (root === 'apis') return this.#remotes.get(`${parts[1]}.${parts[0]}`)
    if (root === 'api') return this.#remotes.get(`${parts[0]}.`)
    const prefix = '/openapi/v3/'
    return path.startsWith(prefix) ? this.#findDocument(path.slice(prefix.length)) : undefined
  }

  #findDocument(name: string): Remote | undefined {
    for (const remote of this.#remotes.values()) if (remote.openApi.has(name)) return remote
    return undefined
  }

  versions(): RemoteVersion[] {
    return [...this.#all].map(([name, { spec }]) => {
      const remote = this.#remotes.get(name)
      return {
        group: spec.group ?? '',
        version: spec.version,
        groupPriority: spec.groupPriorityMinimum,
        versionPriority: spec.versionPriority,
        isLocal: remote === undefined,
        resources: remote?.resources,
        freshness: remote?.isCurrent ? 'Current' : 'Stale',
      }
    })
  }

  openApiPaths(): Map<string, string> {
    return new Map([...this.#remotes.values()].flatMap(({ openApi }) => [...openApi]))
  }

  openApiV2Documents(): Promise<RemoteDocument[]> {
    const services = Array.from(this.#remotes.values(), ({ service }) => service)
    return this.#openApiV2.documentsOf(services.filter(isAvailable), this.#deps.clock.now())
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Which APIServices are unavailable. */
  unavailable(): { name: string; isUnavailable: boolean }[] {
    return [...this.#all].map(([name, service]) => ({ name, isUnavailable: !isAvailable(service) }))
  }

  /** How often each has become unavailable. */
  unavailableTotals(): { name: string; reason: string; value: number }[] {
    return [...this.#unavailableTotals.values()]
  }

  #context(subresource = ''): RequestContext {
    const { clock, storeOf } = this.#deps
    const caller = { signal: this.#stopping.signal }
    const ctx = internalContext({ now: clock.now(), caller, stores: storeOf })
    return { ...ctx, subresource }
  }

  #replace(objects: readonly APIService[]): void {
    const names = new Set(objects.map(({ metadata }) => metadata.name))
    for (const name of [...this.#all.keys()]) if (!names.has(name)) this.#forget(name)
    for (const object of objects) this.#know(object)
  }

  #know(service: APIService): void {
    const name = service.metadata.name
    const before = this.#all.get(name)
    this.#all.set(name, service)
    for (const listener of this.#serviceListeners) listener(name)
    const isRemote = service.spec.service !== undefined
    const isSame = before !== undefined && jsonEqual(before.spec, service.spec)
    const wasAvailable = before !== undefined && isAvailable(before)
    if (!isRemote) this.#remotes.delete(name)
    else {
      const known = this.#remotes.get(name)
      if (known === undefined)
        this.#remotes.set(name, {
          service,
          resources: undefined,
          isCurrent: false,
          openApi: new Map(),
        })
      else known.service = service
    }
    if (!isSame) this.#tell()
    if (isRemote && (!isSame || wasAvailable !== isAvailable(service))) {
      this.#checks.add(name)
      this.#readings.add(name)
    }
    // Whoever writes another condition on a local one loses it again (local_available_controller.go).
    if (!isRemote && !isKnownLocal(service)) this.#checks.add(name)
    this.#followBackends()
  }

  #forget(name: string): void {
    this.#all.delete(name)
    for (const listener of this.#serviceListeners) listener(name)
    this.#remotes.delete(name)
    this.#tell()
    this.#followBackends()
  }

  #tell(): void {
    for (const listener of this.#listeners) listener()
  }

  /** Services and slices are followed only while there are remote APIServices. */
  #followBackends(): void {
    if (this.#remotes.size === 0) {
      this.#backendsStopping?.abort()
      this.#backendsStopping = undefined
      return
    }
    if (this.#backendsStopping !== undefined) return
    this.#backendsStopping = new AbortController()
    const { signal } = this.#backendsStopping
    for (const { resource, serviceOf } of backendObjects) {
      const followed = followObjects({ ...this.#deps, signal }, resource, {
        replace: () => {
          for (const name of this.#remotes.keys()) this.#checks.add(name)
        },
        changed: (_type, object) =>
          this.#checkBehind(object.metadata.namespace!, serviceOf(object)),
      }).then(({ done }) => done)
      this.#followed.push(
        followed.catch((error) => {
          if (!signal.aborted) this.#deps.log('backends of APIServices cannot be followed', error)
        }),
      )
    }
  }

  #checkBehind(namespace: string, name: string | undefined): void {
    for (const [key, { service }] of this.#remotes) {
      const behind = service.spec.service!
      if (behind.namespace === namespace && behind.name === name) this.#checks.add(key)
    }
  }

  #work(queue: WorkQueue, what: string, sync: (name: string) => Promise<Next>): Promise<void> {
    const { log } = this.#deps
    return work({
      queue,
      workers: workersOfEach,
      sync,
      log: workLog(`${what} of APIService`, log),
      signal: this.#stopping.signal,
    })
  }

  /** Checks whether it is available and writes the condition. */
  async #check(name: string): Promise<Next> {
    const service = this.#all.get(name)
    if (service === undefined) return undefined
    const availability = await checkAvailability(this.#context(), this.backends, service)
    if (this.#stopping.signal.aborted) return undefined
    const store = this.#deps.storeOf(apiServices)!
    const { clock } = this.#deps
    if (statusWith(service, availability, clock.now()) !== undefined) {
      if (isAvailable(service) && availability.status !== 'True')
        this.#count(name, availability.reason)
      await store.update(this.#context('status'), name, (current) => {
        const status = statusWith(current!, availability, clock.now())
        return { ...current!, metadata: { ...current!.metadata }, ...(status ? { status } : {}) }
      })
    }
    if (service.spec.service === undefined) return undefined
    // No event tells when that changes, so it is retried, less and less often.
    if (availability.reason === 'FailedDiscoveryCheck') throw new Error(availability.message)
    return { afterMs: limits.apiServiceCheckIntervalMs }
  }

  #count(name: string, reason: string): void {
    const key = `${name} ${reason}`
    const known = this.#unavailableTotals.get(key)
    if (known === undefined) this.#unavailableTotals.set(key, { name, reason, value: 1 })
    else known.value++
  }

  /** Reads what the server behind it serves. */
  async #read(name: string): Promise<Next> {
    const remote = this.#remotes.get(name)
    if (remote === undefined) return undefined
    // One that is not available may still tell what it serves.
    try {
      remote.resources = await readDiscovery(this.backends, remote.service)
      remote.isCurrent = true
    } catch (error) {
      // The version stays, stale and without resources.
      remote.resources = undefined
      remote.isCurrent = false
      throw error
    } finally {
      this.#tell()
    }
    // A server without OpenAPI v3, or whose index fails, is served without documents.
    remote.openApi = await readOpenApiIndex(this.backends, remote.service).catch(() => new Map())
    this.#tell()
    return { afterMs: limits.aggregatedDiscoveryIntervalMs }
  }
}

const workersOfEach = 2

/** When to check a name again; undefined: when something changes. */
type Next = { afterMs: number } | undefined
