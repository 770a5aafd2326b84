/**
 * Short names for contents. FNV and the alphabet are upstream's, and so are the names of a StatefulSet's revisions. What
 * is hashed for a template is its canonical JSON where upstream has a dump of Go's memory, so that our labels differ from
 * those of a Go controller for equal templates. Nothing compares them: controllers find what they made by comparing templates.
 */
import { escapeHtml } from '#json/json.js'
import { canonicalJson } from '#json/object.js'

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

/** The `pod-template-hash` of a template. The collision count only counts when there was a collision. */
export const templateHash = (template: unknown, collisionCount?: number): string => {
  const text = canonicalJson(template)
  const bytes = Buffer.from(collisionCount ? `${text}${collisionCount}` : text)
  return safeEncode(String(fnv32(bytes, '1a')))
}

/**
 * The name suffix of a StatefulSet's ControllerRevision, as upstream's HashControllerRevision makes it: of the bytes as
 * Go writes them and of the collisions, 0 included. A user who changes from one controller manager to the other keeps
 * the revisions under their names.
 */
export const revisionHash = (data: unknown, collisionCount = 0): string => {
  const text = escapeHtml(canonicalJson(data))
  return safeEncode(String(fnv32(Buffer.from(`${text}${collisionCount}`))))
}
