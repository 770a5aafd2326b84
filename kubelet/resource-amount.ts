/** Amounts of resources as numbers: cores of cpu, bytes of memory. Exact enough for fits and files, not for the API. */

const suffixes: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
}

/** 0 for what is no quantity: the API has refused those before. */
export const parseQuantity = (quantity: string | number | bigint): number => {
  if (typeof quantity !== 'string') return Number(quantity)
  const match = /^([+-]?[0-9.]+)(?:([eE][+-]?[0-9]+)|([numkMGTPE]?i?))$/.exec(quantity)
  if (!match) return 0
  return Number(match[1] + (match[2] ?? '')) * (suffixes[match[3] ?? ''] ?? 1)
}
