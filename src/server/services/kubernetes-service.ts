/**
 * Maintains the Service `kubernetes` and its endpoints, where clients inside the cluster find its API servers (kubernetes,
 * pkg/controlplane/controller/kubernetesservice). It is checked every ten seconds, because others may change or delete it.
 */
import type { KubeObject } from '#api/object.js'
import { cloneJson } from '#json/object.js'
import type { JsonObject } from '#json/value.js'
import { limits } from '#limits'
import { bootstrapObjects } from '#openapi/schemas.js'
import { decodeObject } from '#registry/decode.js'
import { internalContext } from '#registry/internal-context.js'
import type { RequestContext } from '#registry/resource-definition.js'
import type { Store } from '#registry/store.js'
import { type BootstrapDeps, ensure, servicePath } from '../bootstrap/bootstrap.js'
import type { EndpointReconcilerType } from '../options.js'
import { readOrNone } from '../read-or-none.js'
import { Rounds } from '../rounds.js'
import { firstServiceAddress } from '../service-range.js'
import { unlessRefused, untilStored } from '../until-stored.js'
import {
  countedAddresses,
  type EndpointSubset,
  liveAddresses,
  type ReconcileAddresses,
  reconcileSubsets,
  sliceFor,
  withoutAddress,
} from './endpoint-reconciler.js'
import type { MasterLeases } from './master-leases.js'

interface KubernetesServiceDeps {
  readonly bootstrap: () => BootstrapDeps
  /** Undefined where nobody shares the store: then this is its only server. */
  readonly leases: MasterLeases | undefined
  readonly reconcilerType: EndpointReconcilerType
  /** How many servers there should be, for `master-count`. */
  readonly apiserverCount: number
  readonly log: (message: string, error?: unknown) => void
}

/** Where clients reach the server. */
interface ServerPlace {
  readonly ip: string
  readonly port: number
  /** 0 if the Service has none. */
  readonly nodePort: number
}

const name = 'kubernetes'
const skipMirror = { 'endpointslice.kubernetes.io/skip-mirror': 'true' }
const endpointsResource = { group: '', resource: 'endpoints' }
const slicesResource = { group: 'discovery.k8s.io', resource: 'endpointslices' }

const serviceFor = (range: string, { port, nodePort }: ServerPlace): JsonObject => {
  const [service] = bootstrapObjects()[servicePath]!
  const clusterIP = firstServiceAddress(range)
  const https = { name: 'https', protocol: 'TCP', port: 443, targetPort: port }
  const ports = [nodePort > 0 ? { ...https, nodePort } : https]
  const spec = { ...(service!.spec as JsonObject), clusterIP, ports }
  return { ...service, spec: nodePort > 0 ? { ...spec, type: 'NodePort' } : spec }
}

const emptyObject = ({ definition }: Store): KubeObject =>
  decodeObject(definition, { metadata: { name, namespace: 'default' } }).object

const isLoopback = (ip: string): boolean => ip.startsWith('127.') || ip === '::1'

export class KubernetesService {
  readonly #deps: KubernetesServiceDeps
  #place: ServerPlace | undefined
  readonly #checks = new Rounds()
  #isLeaving = false

  constructor(deps: KubernetesServiceDeps) {
    this.#deps = deps
  }

  /** Runs once the server listens. Resolves when clients can find it; rejects if that cannot be stored. */
  async publish(place: ServerPlace): Promise<void> {
    this.#place = place
    const deps = this.#deps.bootstrap()
    await this.#keepService(deps, place)
    await unlessRefused(deps.log, 'where the server is', () =>
      untilStored(deps.caller, () => this.#join(deps, place)),
    )
    this.#checks.start(limits.peerRenewMs, () => this.#check(place))
  }

  /** Tells clients to use other servers from now on. Does not reject. */
  async withdraw(): Promise<void> {
    const checked = this.#checks.stop()
    this.#isLeaving = true
    if (this.#place === undefined) return
    try {
      await checked
      await this.#leave(this.#place)
    } catch (error) {
      this.#deps.log('the server is still in the endpoints of the Service kubernetes', error)
    }
  }

  async #check(place: ServerPlace): Promise<void> {
    try {
      const deps = this.#deps.bootstrap()
      await this.#keepService(deps, place)
      await this.#join(deps, place)
    } catch (error) {
      this.#deps.log('the Service kubernetes could not be checked', error)
    }
  }

  async #keepService(deps: BootstrapDeps, place: ServerPlace): Promise<void> {
    await ensure(deps, servicePath, serviceFor(deps.serviceClusterIpRange, place))
  }

  /** Upstream refuses loopback addresses in endpoints, so a server that only listens there publishes none. */
  #isShown({ ip }: ServerPlace): boolean {
    return this.#deps.reconcilerType !== 'none' && !isLoopback(ip)
  }

  async #join(deps: BootstrapDeps, place: ServerPlace): Promise<void> {
    if (!this.#isShown(place)) return
    const { leases, reconcilerType, apiserverCount } = this.#deps
    const { ip, port } = place
    if (reconcilerType === 'master-count') {
      const addresses = async () => countedAddresses(ip, apiserverCount)
      await this.#reconcile(deps, { port, reconcilePorts: false, addresses })
      return
    }
    await leases?.renew(ip)
    // As upstream: servers that share a store should have the same port, and none replaces another's.
    const reconcilePorts = leases === undefined
    const addresses = async () => liveAddresses([...((await leases?.list()) ?? []), ip])
    await this.#reconcile(deps, { port, reconcilePorts, addresses })
  }

  async #leave(place: ServerPlace): Promise<void> {
    const { leases, reconcilerType } = this.#deps
    if (leases === undefined || !this.#isShown(place)) return
    const { ip, port } = place
    const addresses = async (): Promise<ReconcileAddresses> => {
      if (reconcilerType === 'master-count') return withoutAddress(ip)
      return liveAddresses(await leases.list())
    }
    if (reconcilerType === 'lease') await leases.remove(ip)
    await this.#reconcile(this.#deps.bootstrap(), { port, reconcilePorts: true, addresses })
  }

  /**
   * `addresses` is called after the endpoints were read, so that whoever wrote them in between has not seen more than
   * it yields.
   */
  async #reconcile(
    deps: BootstrapDeps,
    to: {
      readonly port: number
      readonly reconcilePorts: boolean
      readonly addresses: () => Promise<ReconcileAddresses>
    },
  ): Promise<void> {
    const ctx = internalContext(deps, 'default')
    const store = deps.stores(endpointsResource)!
    if (this.#isLeaving && (await readOrNone(store, ctx, name)) === undefined) return
    const { stored } = await store.update(ctx, name, async (current) => {
      const base = current ?? emptyObject(store)
      const subsets = reconcileSubsets(base.subsets ?? [], await to.addresses(), to)
      const labels = { ...base.metadata.labels, ...skipMirror }
      return { ...base, metadata: { ...base.metadata, labels }, subsets: [...subsets] }
    })
    await this.#mirror(deps, ctx, stored.object.subsets ?? [])
  }

  async #mirror(
    deps: BootstrapDeps,
    ctx: RequestContext,
    subsets: readonly EndpointSubset[],
  ): Promise<void> {
    const store = deps.stores(slicesResource)!
    const slice = sliceFor(subsets)
    const existing = await readOrNone(store, ctx, name)
    if (existing !== undefined && existing.addressType !== slice.addressType)
      await store.delete(ctx, name, {})
    const change = (current: KubeObject | undefined): KubeObject => {
      const base = current ?? emptyObject(store)
      const labels = { 'kubernetes.io/service-name': name }
      return { ...base, metadata: { ...base.metadata, labels }, ...cloneJson(slice) }
    }
    await store.update(ctx, name, change, { forceAllowCreate: true })
  }
}
