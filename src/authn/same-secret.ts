import { timingSafeEqual } from 'node:crypto'

/** In a time that tells nothing about where they differ. */
export const sameSecret = (kept: string, shown: string): boolean => {
  const [a, b] = [Buffer.from(kept), Buffer.from(shown)]
  return a.length === b.length && timingSafeEqual(a, b)
}
