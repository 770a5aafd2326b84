import { timingSafeEqual } from 'node:crypto'

/** Compares in constant time. */
export const sameSecret = (kept: string, shown: string): boolean => {
  const [a, b] = [Buffer.from(kept), Buffer.from(shown)]
  return a.length === b.length && timingSafeEqual(a, b)
}
