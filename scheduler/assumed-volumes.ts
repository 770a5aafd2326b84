/**
 * What was decided about claims that wait for their Pods and is not written yet, as if it were: Pods that share a claim go
 * to one node, and no two claims get one volume. Upstream: the assume caches of VolumeBinding.
 */
import { keyOf } from '#client/object-store.js'
import { boundTo, type Claim, selectedNode, type Volume } from '#client/persistent-volume.js'
import type { ChosenVolumes } from './bound-claims.js'

/** False for what an earlier decision about the claim writes, or has written. */
export const hasToBeWritten = (claim: Claim, volume: Volume | undefined): boolean =>
  volume === undefined
    ? claim.metadata.annotations?.[selectedNode] === undefined
    : volume.spec.claimRef?.uid !== claim.metadata.uid

export class AssumedVolumes {
  /** By the key of the claim: the node that its provisioner is told. */
  readonly #nodes = new Map<string, { claim: Claim; node: string }>()
  /** By the name of the volume. */
  readonly #claims = new Map<string, Claim>()

  add(chosen: ChosenVolumes, node: string): void {
    for (const [claim, volume] of chosen) {
      if (!hasToBeWritten(claim, volume)) continue
      if (volume !== undefined) this.#claims.set(volume.metadata.name, claim)
      else this.#nodes.set(keyOf(claim), { claim, node })
    }
  }

  /** It has been written, or will not be. */
  remove(claim: Claim, volume: Volume | undefined): void {
    const name = volume?.metadata.name ?? ''
    if (this.#claims.get(name) === claim) this.#claims.delete(name)
    if (this.#nodes.get(keyOf(claim))?.claim === claim) this.#nodes.delete(keyOf(claim))
  }

  /** Somebody is about to write something of it. */
  has(chosen: ChosenVolumes): boolean {
    return [...chosen].some(([claim, volume]) =>
      volume === undefined ? this.#nodes.has(keyOf(claim)) : this.#claims.has(volume.metadata.name),
    )
  }

  claim(claim: Claim): Claim {
    const known = this.#nodes.get(keyOf(claim))
    if (known?.claim.metadata.uid !== claim.metadata.uid) return claim
    const annotations = { ...claim.metadata.annotations, [selectedNode]: known.node }
    return { ...claim, metadata: { ...claim.metadata, annotations } }
  }

  volume(volume: Volume): Volume {
    const claim = this.#claims.get(volume.metadata.name)
    return claim === undefined ? volume : boundTo(volume, claim)
  }
}
