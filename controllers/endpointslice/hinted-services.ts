/** Which Services have hints by `topology-mode: Auto`, and what they were made of. */
import { keyOf } from '#client/object-store.js'
import { type AddressType, addressTypesOf, type Service, usesTopology } from './endpoint.js'
import type { EndpointSlice, NewSlice, SliceActions } from './reconcile.js'
import { isOverloaded, type Ratios, withTopologyHints } from './topology.js'

export interface ServiceEvent {
  readonly type: 'Normal' | 'Warning'
  readonly reason: string
  readonly message: string
}

const told = (isEnabled: boolean, message: string, addressType: string): ServiceEvent => ({
  type: isEnabled ? 'Normal' : 'Warning',
  reason: isEnabled ? 'TopologyAwareHintsEnabled' : 'TopologyAwareHintsDisabled',
  message: `${message}, addressType: ${addressType}`,
})

export class HintedServices {
  /** By Service and address type, how many endpoints each zone was hinted. */
  readonly #allocated = new Map<string, Map<string, ReadonlyMap<string, number>>>()
  /** Of which it was told; one address type that has none is enough to forget it (as upstream's). */
  readonly #enabled = new Set<string>()

  forget(key: string): void {
    this.#allocated.delete(key)
    this.#enabled.delete(key)
  }

  #remove(key: string, addressType: string): void {
    const ofService = this.#allocated.get(key)
    ofService?.delete(addressType)
    if (ofService?.size === 0) this.#allocated.delete(key)
    this.#enabled.delete(key)
  }

  /** What is to be written with the hints that the Service wants now, and what is told of it. */
  reconcile(
    service: Service,
    actions: SliceActions,
    slices: readonly EndpointSlice[],
    ratios: Ratios | undefined,
  ): { actions: SliceActions; events: ServiceEvent[] } {
    const key = keyOf(service)
    const types = addressTypesOf(service)
    for (const { addressType } of slices)
      if (!types.includes(addressType as AddressType)) this.#remove(key, addressType)
    if (!usesTopology(service)) return { actions, events: this.#disable(key, types) }
    const written = new Set(
      [...actions.update, ...actions.delete].map(({ metadata }) => metadata.uid),
    )
    const unchanged = slices.filter(({ metadata }) => !written.has(metadata.uid))
    const hinted: SliceActions = { create: [], update: [], delete: actions.delete }
    const events: ServiceEvent[] = []
    for (const addressType of types) {
      const isOfType = (slice: EndpointSlice | NewSlice) => slice.addressType === addressType
      const set = {
        create: actions.create.filter(isOfType),
        update: actions.update.filter(isOfType),
        unchanged: unchanged.filter(isOfType),
      }
      const { create, update, allocated } = withTopologyHints(set, ratios)
      hinted.create.push(...create)
      hinted.update.push(...update)
      if (typeof allocated === 'string') {
        this.#remove(key, addressType)
        events.push(told(false, allocated, addressType))
        continue
      }
      if (!this.#enabled.has(key))
        events.push(told(true, 'Topology Aware Hints has been enabled', addressType))
      const ofService = this.#allocated.get(key) ?? new Map()
      this.#allocated.set(key, ofService.set(addressType, allocated))
      this.#enabled.add(key)
    }
    return { actions: hinted, events }
  }

  #disable(key: string, types: readonly AddressType[]): ServiceEvent[] {
    return types.flatMap((addressType) => {
      const wasEnabled = this.#enabled.has(key)
      this.#remove(key, addressType)
      return wasEnabled ? [told(false, 'Topology Aware Hints has been disabled', addressType)] : []
    })
  }

  /** Keys of Services in which a zone has too few endpoints now. */
  overloaded(ratios: Ratios | undefined): string[] {
    return [...this.#allocated]
      .filter(([, byType]) => [...byType.values()].some((counts) => isOverloaded(counts, ratios)))
      .map(([key]) => key)
  }
}
