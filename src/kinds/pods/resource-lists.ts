/** Lists of quantities by resource name. */
import { parseQuantity, roundUpToMilli } from '#api/quantity.js'

export type ResourceList = Record<string, string>

/** Upstream rounds every amount up to thousandths. Changes the list in place. */
export const roundResourceList = (list: ResourceList | undefined | null): void => {
  if (list === undefined || list === null) return
  for (const [name, text] of Object.entries(list)) {
    // Thousandths and more are most of what is ever written.
    if (!/[nu.]|[eE]-/.test(text)) continue
    const quantity = parseQuantity(text)
    const rounded = roundUpToMilli(quantity)
    if (rounded !== quantity) list[name] = rounded.text
  }
}
