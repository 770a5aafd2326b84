/** Amounts of resources as numbers: cores of cpu, bytes of memory. Exact enough for fits, files and statistics. */
import { parseQuantity, QuantityError } from '#api/quantity.js'

/** 0 for what is no quantity: the API has refused those before. */
export const amountOf = (quantity: string | number | bigint): number => {
  if (typeof quantity !== 'string') return Number(quantity)
  try {
    return Number(parseQuantity(quantity).nano) / 1e9
  } catch (error) {
    if (error instanceof QuantityError) return 0
    throw error
  }
}
