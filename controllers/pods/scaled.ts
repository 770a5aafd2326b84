/** A count, or a part of `total` for a percentage; upstream's GetScaledValueFromIntOrPercent. */
export const scaled = (value: number | string, total: number, up: boolean): number => {
  if (typeof value === 'number') return value
  const share = (Number.parseInt(value, 10) * total) / 100
  return up ? Math.ceil(share) : Math.floor(share)
}
