/** Numbers as Go prints them. */

/** Go's `%g` with the shortest digits: an exponent below -4 and from 6 on. */
export const formatDouble = (value: number): string => {
  if (Number.isNaN(value)) return 'NaN'
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf'
  if (Object.is(value, -0)) return '-0'
  const [mantissa, exponent] = value.toExponential().split('e') as [string, string]
  const power = Number(exponent)
  if (value !== 0 && (power < -4 || power >= 6))
    return `${mantissa}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`
  if (power < 0) {
    const digits = mantissa.replace(/[-.]/g, '')
    return `${value < 0 ? '-' : ''}0.${'0'.repeat(-power - 1)}${digits}`
  }
  return String(value)
}

/** `%v` of a number out of JSON: upstream's decoder reads whole numbers that fit as int64, all others as float64. */
export const goNumber = (value: number): string =>
  Number.isSafeInteger(value) ? String(value) : formatDouble(value)
