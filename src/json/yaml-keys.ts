/** The order in which goyaml.v2 writes the keys of a map: digits by the number that they make, letters last. */

const isLetter = (char: string): boolean => /\p{L}/u.test(char)
const isDigit = (char: string | undefined): boolean => char !== undefined && /\p{Nd}/u.test(char)

/** The number that begins at `at`, and where it ends; zeros in front count only after another digit. */
const numberAt = (chars: string[], at: number, first: bigint): [value: bigint, end: number] => {
  let value = first
  let end = at
  for (; isDigit(chars[end]); end++)
    value = BigInt.asIntN(64, value * 10n + BigInt(chars[end]!.codePointAt(0)! - 48))
  return [value, end]
}

const followsNumber = (chars: string[], at: number): boolean => {
  for (let j = at - 1; j >= 0 && isDigit(chars[j]); j--) if (chars[j] !== '0') return true
  return false
}

const byCode = (a: string, b: string): number => a.codePointAt(0)! - b.codePointAt(0)!

const compareAt = (a: string[], b: string[], at: number): number => {
  const [x, y] = [a[at]!, b[at]!]
  const letters = [isLetter(x), isLetter(y)]
  if (letters[0] && letters[1]) return byCode(x, y)
  if (letters[0] || letters[1]) return letters[0] ? 1 : -1
  const first = (x === '0' || y === '0') && followsNumber(a, at) ? 1n : 0n
  const [n, nEnd] = numberAt(a, at, first)
  const [m, mEnd] = numberAt(b, at, first)
  if (n !== m) return n < m ? -1 : 1
  return nEnd === mEnd ? byCode(x, y) : nEnd - mEnd
}

export const inNaturalOrder = (a: string, b: string): number => {
  const [x, y] = [[...a], [...b]]
  for (let at = 0; at < x.length && at < y.length; at++)
    if (x[at] !== y[at]) return compareAt(x, y, at)
  return x.length - y.length
}
