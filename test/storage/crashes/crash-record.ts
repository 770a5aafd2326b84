/** What clients of a store know: what they asked for, what they were told, and what they saw. */

/** A put of the transaction's own name, or a delete. */
export interface Step {
  readonly type: 'put' | 'delete'
  readonly key: string
  readonly ttlSeconds?: number
}

export type CrashRecord =
  | { readonly kind: 'sent'; readonly id: string; readonly steps: readonly Step[] }
  | { readonly kind: 'done'; readonly id: string; readonly revision: number }
  /** It did not happen. Whoever was told nothing does not know. */
  | { readonly kind: 'refused'; readonly id: string }
  /** A watch of everything begins, after this revision. */
  | { readonly kind: 'watching'; readonly after: number }
  /** It showed a change; a delete has no value. */
  | {
      readonly kind: 'seen'
      readonly revision: number
      readonly key: string
      readonly value?: string
    }
  | { readonly kind: 'compacted'; readonly revision: number }

/** Each transaction puts its name here: so the history tells what belongs to it. */
export const markerPrefix = '/m'
