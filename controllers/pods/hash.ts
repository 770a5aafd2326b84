/**
 * Short names for contents. FNV and the alphabet are upstream's; what is hashed for a template is its canonical JSON
 * where upstream has a dump of Go's memory, so that our labels differ from those of a Go controller for equal
 * templates. Nothing compares them: controllers find what they made by comparing templates.
 */
import { canonicalJson } from '#api/json-object.js'

const fnvOffset = 2166136261
const fnvPrime = 16777619

/** 32 bits. `1a` mixes before it multiplies. */
export const fnv32 = (bytes: Uint8Array, variant: '1' | '1a' = '1'): number => {
  let hash = fnvOffset
  for (const byte of bytes)
    hash = variant === '1a' ? Math.imul(hash ^ byte, fnvPrime) : Math.imul(hash, fnvPrime) ^ byte
  return hash >>> 0
}

/** No vowels and nothing that looks like another, so that no word comes out; utilrand.SafeEncodeString. */
const alphabet = 'bcdfghjklmnpqrstvwxz2456789'
export const safeEncode = (text: string): string =>
  [...text].map((c) => alphabet[c.charCodeAt(0) % alphabet.length]).join('')

/** The collision count only counts when there was a collision. */
const withCollisions = (text: string, collisionCount: number | undefined): Uint8Array =>
  Buffer.from(collisionCount ? `${text}${collisionCount}` : text)

/** The `pod-template-hash` of a template. */
export const templateHash = (template: unknown, collisionCount?: number): string =>
  safeEncode(String(fnv32(withCollisions(canonicalJson(template), collisionCount), '1a')))

/** The name suffix of a ControllerRevision with these bytes. */
export const revisionHash = (data: unknown, collisionCount?: number): string =>
  safeEncode(String(fnv32(withCollisions(canonicalJson(data), collisionCount))))
