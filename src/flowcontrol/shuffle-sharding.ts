/**
 * The queues that a flow may wait in: a hand of them, dealt by a hash of the flow, so that a flow which fills its own
 * hand leaves a free queue to most others (apiserver, util/shufflesharding).
 */
import { createHash } from 'node:crypto'

/** Upstream's hash of a flow: the first eight bytes of SHA-256, the least significant first. */
export const hashOfFlow = (schemaName: string, distinguisher: string): bigint =>
  createHash('sha256').update(`${schemaName}\0${distinguisher}`).digest().readBigUInt64LE(0)

/** `handSize` different numbers below `deckSize`. */
export const dealHand = (hash: bigint, deckSize: number, handSize: number): number[] => {
  let rest = hash
  // Each is a place among the cards that are left when it is dealt.
  const places = Array.from({ length: handSize }, (_, dealt) => {
    const left = BigInt(deckSize - dealt)
    const place = Number(rest % left)
    rest /= left
    return place
  })
  return places.map((place, dealt) => {
    let card = place
    for (let before = dealt - 1; before >= 0; before--) if (card >= places[before]!) card++
    return card
  })
}
