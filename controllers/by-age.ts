/** Which of several objects is first where upstream goes by age. */
import { compareTexts } from '#go/compare-texts.js'

interface Aged {
  readonly metadata: { readonly name?: string; readonly creationTimestamp?: string | null }
}

/** Oldest first, then by name. */
export const byAge = ({ metadata: a }: Aged, { metadata: b }: Aged): number =>
  compareTexts(a.creationTimestamp ?? '', b.creationTimestamp ?? '') ||
  compareTexts(a.name ?? '', b.name ?? '')
