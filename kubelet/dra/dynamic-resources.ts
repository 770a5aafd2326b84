/**
 * The devices of ResourceClaims: prepared by their drivers before a Pod's containers start, and unprepared when the last
 * Pod of the node that has the claim has ended. Upstream: pkg/kubelet/cm/dra/manager.go.
 */
import { messageOf } from '#client/errors.js'
import type { Log } from '#client/log.js'
import { isMadeFor, isReservedFor, resourceClaimsOf, usedClaimsOf } from '#client/resource-claim.js'
import { addToList } from '#collections/add-to-list.js'
import { textOf } from '../grpc/error-text.js'
import type { ObjectReader } from '../object-reader.js'
import type { ContainerSpec, Pod } from '../pod.js'
import { Turns } from '../turns.js'
import { untilDone } from '../until-done.js'
import type { ClaimAsked } from './dra-client.js'
import type { DraDrivers } from './dra-drivers.js'
import { claimKey, type PreparedClaim, type PreparedClaims } from './prepared-claims.js'

interface DynamicResourcesOptions {
  readonly reader: ObjectReader
  readonly drivers: DraDrivers
  readonly claims: PreparedClaims
  readonly log: Log
  /** Ends every retry: the next kubelet finds the file. */
  readonly signal: AbortSignal
}

const retryMs = { baseMs: 500, maxMs: 60_000 }

/** One call to each driver, for all claims that it has to do with. */
const byDriver = (claims: readonly PreparedClaim[]): Map<string, PreparedClaim[]> => {
  const batches = new Map<string, PreparedClaim[]>()
  for (const claim of claims)
    for (const driver of Object.keys(claim.drivers)) addToList(batches, driver, claim)
  return batches
}

interface ContainerRequest {
  /** The claim's. */
  readonly name: string
  /** Undefined: all that the claim has. */
  readonly request?: string | undefined
}

/** What the container is to have of the Pod's claims, and of the one for its extended resources. */
const requestsOf = (
  pod: Pod,
  { name: container, resources }: ContainerSpec,
): ContainerRequest[] => {
  const made = resourceClaimsOf(pod)
  const names = new Map((pod.spec.resourceClaims ?? []).map(({ name }, i) => [name, made[i]?.name]))
  const claimed = (resources?.claims ?? []).flatMap(({ name: podClaim, request }) => {
    const name = names.get(podClaim)
    return name === undefined ? [] : [{ name, request }]
  })
  const extended = pod.status?.extendedResourceClaimStatus
  if (extended === undefined) return claimed
  const mapped = extended.requestMappings
    .filter(({ containerName }) => containerName === container)
    .map(({ requestName }) => ({ name: extended.resourceClaimName, request: requestName }))
  return [...claimed, ...mapped]
}

const asked = ({ namespace, name, uid }: ClaimAsked): ClaimAsked => ({ namespace, name, uid })

export class DynamicResources {
  readonly #options: DynamicResourcesOptions
  readonly #turns = new Turns()
  /** uids of claims that this kubelet knows to be prepared. */
  readonly #prepared = new Set<string>()

  constructor(options: DynamicResourcesOptions) {
    this.#options = options
  }

  /** Learns what an earlier kubelet has prepared. */
  open(): Promise<void> {
    return this.#options.claims.open()
  }

  /** Nothing is prepared for a Pod after `ended`. Throws upstream's texts. */
  async prepare(pod: Pod, ended: AbortSignal): Promise<void> {
    if (usedClaimsOf(pod).length === 0) return
    try {
      // Looks at everything first: a Pod that cannot have its claims must be able to go without its drivers.
      const claims = await this.#wanted(pod)
      await this.#turns.next(claims.map(claimKey), () => this.#prepare(pod, claims, ended))
    } catch (error) {
      throw new Error(`prepare dynamic resources: ${messageOf(error)}`)
    }
  }

  /** Names of the CDI devices that the container gets. */
  devicesOf(pod: Pod, container: ContainerSpec): string[] {
    const { namespace } = pod.metadata
    return requestsOf(pod, container).flatMap(({ name, request }) => {
      const claim = this.#options.claims.get(claimKey({ namespace, name }))
      if (!claim)
        throw new Error(
          `internal error: unable to get claim info for ResourceClaim ${name} in namespace ${namespace}`,
        )
      return Object.values(claim.drivers)
        .flat()
        .filter(({ requestNames }) =>
          request && requestNames.length > 0 ? requestNames.includes(request) : true,
        )
        .flatMap(({ cdiDeviceIds }) => cdiDeviceIds)
    })
  }

  /** The Pod has no containers any more. Throws upstream's texts. */
  async unprepare(podUid: string): Promise<void> {
    const { claims } = this.#options
    const keys = claims.of(podUid).map(claimKey)
    if (keys.length === 0) return
    try {
      await this.#turns.next(keys, () => this.#unprepare(podUid))
    } catch (error) {
      throw new Error(`unprepare dynamic resources: ${messageOf(error)}`)
    }
  }

  /** Pods that have claims here. */
  podUids(): string[] {
    return [...this.#options.claims.podUids()]
  }

  /** Unprepares what a Pod has that is gone from this node; tried again until it is done. */
  async release(podUid: string): Promise<void> {
    const { log, signal } = this.#options
    await untilDone(
      () => this.unprepare(podUid),
      (error) => log.warn({ uid: podUid, error: messageOf(error) }, 'devices were not unprepared'),
      { signal, retryMs },
    )
  }

  async #wanted(pod: Pod): Promise<PreparedClaim[]> {
    const { namespace, name: podName, uid: podUid } = pod.metadata
    const wanted: PreparedClaim[] = []
    for (const { name, isMade, isAwaited } of usedClaimsOf(pod)) {
      if (isAwaited) throw new Error(`pod "${namespace}/${podName}": ResourceClaim not created yet`)
      if (name === undefined) continue
      const claim = await this.#options.reader.resourceClaim(namespace, name).catch((error) => {
        throw new Error(`fetch ResourceClaim ${name}: ${messageOf(error)}`)
      })
      if (isMade && !isMadeFor(claim, pod))
        throw new Error(
          `ResourceClaim ${namespace}/${name} was not created for Pod ${namespace}/${podName} (Pod is not owner)`,
        )
      const { uid } = claim.metadata
      if (!isReservedFor(claim, pod))
        throw new Error(
          `pod ${podName} (${podUid}) is not allowed to use ResourceClaim ${name} (${uid})`,
        )
      const { allocation } = claim.status ?? {}
      if (!allocation) throw new Error(`ResourceClaim ${name}: not allocated`)
      const names = new Set((allocation.devices.results ?? []).map(({ driver }) => driver))
      for (const driver of names) this.#options.drivers.client(driver)
      const drivers = Object.fromEntries([...names].map((driver) => [driver, []]))
      wanted.push({ namespace, name, uid, podUids: [], drivers })
    }
    return wanted
  }

  async #prepare(pod: Pod, wanted: readonly PreparedClaim[], ended: AbortSignal): Promise<void> {
    ended.throwIfAborted()
    const { claims } = this.#options
    const own: PreparedClaim[] = []
    for (const claim of wanted) {
      const known = claims.get(claimKey(claim))
      if (known && known.uid !== claim.uid)
        throw new Error(
          `old ResourceClaim with same name ${claim.name} and different UID ${known.uid} still exists (previous pod force-deleted?!)`,
        )
      if (!known) claims.set(claim)
      const kept = known ?? claim
      if (!kept.podUids.includes(pod.metadata.uid)) kept.podUids.push(pod.metadata.uid)
      own.push(kept)
    }
    // Before any driver is called: whatever it does, the next kubelet can undo it.
    await this.#save('cache')
    const due = own.filter(({ uid }) => !this.#prepared.has(uid))
    for (const [driver, batch] of byDriver(due)) {
      const answers = await this.#call('NodePrepareResources', batch, (all) =>
        this.#options.drivers.client(driver).prepare(all),
      )
      for (const claim of batch)
        claim.drivers[driver] = answers[claim.uid]!.devices.map((device) => ({
          requestNames: device.request_names,
          cdiDeviceIds: device.cdi_device_ids,
        }))
    }
    for (const { uid } of due) this.#prepared.add(uid)
    await this.#save('state')
  }

  async #unprepare(podUid: string): Promise<void> {
    const { claims } = this.#options
    const all = claims.of(podUid)
    const last = all.filter(({ podUids }) => podUids.length === 1)
    for (const [driver, batch] of byDriver(last)) {
      for (const { uid } of batch) this.#prepared.delete(uid)
      await this.#call('NodeUnprepareResources', batch, (asking) =>
        this.#options.drivers.client(driver).unprepare(asking),
      )
    }
    for (const claim of all) {
      claim.podUids.splice(claim.podUids.indexOf(podUid), 1)
      if (claim.podUids.length === 0) claims.delete(claimKey(claim))
    }
    await this.#save('state')
  }

  /** What the driver says of each claim. */
  async #call<T extends { readonly error: string }>(
    method: string,
    batch: readonly PreparedClaim[],
    ask: (
      claims: readonly ClaimAsked[],
    ) => Promise<{ readonly claims: Readonly<Record<string, T>> }>,
  ): Promise<Readonly<Record<string, T>>> {
    const { claims: answers } = await ask(batch.map(asked)).catch((error) => {
      throw new Error(`${method}: ${textOf(error)}`)
    })
    for (const [uid, { error }] of Object.entries(answers)) {
      const claim = batch.find((one) => one.uid === uid)
      if (!claim) throw new Error(`${method} returned result for unknown claim UID ${uid}`)
      if (error) throw new Error(`${method} failed for ResourceClaim ${claim.name}: ${error}`)
    }
    const missing = batch.length - Object.keys(answers).length
    if (missing !== 0) throw new Error(`${method} skipped ${missing} ResourceClaims`)
    return answers
  }

  async #save(what: 'cache' | 'state'): Promise<void> {
    await this.#options.claims.save().catch((error) => {
      throw new Error(`checkpoint ResourceClaim ${what}: ${messageOf(error)}`)
    })
  }
}
