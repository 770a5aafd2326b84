/** Randomness is handed in, so that a test can hold it. */
import { randomInt, randomUUID } from 'node:crypto'
import { limits } from '#limits'

export interface Ids {
  /** A version 4 UUID for metadata.uid. */
  uid(): string
  /** Five characters behind a generateName. */
  nameSuffix(): string
}

// Upstream's alphabet: no vowels and no lookalikes, so that no word comes out.
const alphabet = 'bcdfghjklmnpqrstvwxz2456789'
const suffixLength = 5

export const randomIds: Ids = {
  uid: () => randomUUID(),
  nameSuffix: () =>
    Array.from({ length: suffixLength }, () => alphabet[randomInt(alphabet.length)]).join(''),
}

export const generatedName = (base: string, ids: Ids): string =>
  base.slice(0, limits.generatedNameBaseMax) + ids.nameSuffix()
