/** Go's int64 where doubles are: whole, and a BigInt where a double would not be exact (see json.ts). */
export type Int64 = number | bigint

export const int64Of = (value: bigint): Int64 => {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : value
}
