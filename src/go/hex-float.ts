/** Floating-point numbers in base 16 as strconv.ParseFloat reads them: `0x1.8p-3`. An exponent, of 2, is a must. */

const hex = '[0-9a-fA-F]+(?:_[0-9a-fA-F]+)*'
const shape = new RegExp(
  `^([+-]?)0[xX](?=_?[0-9a-fA-F]|\\.[0-9a-fA-F])_?(${hex})?(?:\\.(${hex})?)?[pP]([+-]?\\d+(?:_\\d+)*)$`,
)
/** More than a double keeps; what is cut off behind them counts as one more bit. */
const keptBits = 64
/** Numbers with a larger exponent are infinite, or zero, whatever stands before it. */
const farExponent = 100_000

const plain = (digits = ''): string => digits.replaceAll('_', '')

/** Undefined if the text is none; one that is too large is infinite. */
export const parseHexFloat = (text: string): number | undefined => {
  const [, sign, whole, fraction, power] = shape.exec(text) ?? []
  if (power === undefined) return undefined
  const behindPoint = plain(fraction)
  let mantissa = BigInt(`0x0${plain(whole)}${behindPoint}`)
  let exponent = Number(plain(power)) - behindPoint.length * 4
  const surplus = mantissa.toString(16).length * 4 - keptBits
  if (surplus > 0) {
    const kept = mantissa >> BigInt(surplus)
    mantissa = kept << BigInt(surplus) === mantissa ? kept : kept | 1n
    exponent += surplus
  }
  exponent = Math.max(-farExponent, Math.min(exponent, farExponent))
  // In two steps: the power alone may be more than a double holds where the number is not.
  const half = Math.trunc(exponent / 2)
  const size = mantissa === 0n ? 0 : Number(mantissa) * 2 ** half * 2 ** (exponent - half)
  return sign === '-' ? -size : size
}
