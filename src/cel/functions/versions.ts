/** Semantic versions (apiserver, pkg/cel/library/semverlib.go; github.com/blang/semver's messages). */
import { goQuote } from '#go/quote.js'
import { limits } from '#limits'
import type { Implementations } from '../evaluation.js'
import { CelError, KubernetesValue, order } from '../values.js'

class Semver extends KubernetesValue {
  readonly typeName = 'kubernetes.Semver'
  readonly numbers: readonly [bigint, bigint, bigint]
  readonly preRelease: readonly string[]
  constructor(numbers: readonly [bigint, bigint, bigint], preRelease: readonly string[]) {
    super()
    this.numbers = numbers
    this.preRelease = preRelease
  }
  equals(other: this): boolean {
    return compare(this, other) === 0
  }
}

const fail = (why: string): never => {
  throw new CelError(why)
}

/** strconv.ParseUint of digits. */
const unsigned = (digits: string): bigint => {
  const value = digits.length > limits.uint64DigitsMax ? undefined : BigInt(digits)
  if (value === undefined || BigInt.asUintN(64, value) !== value)
    return fail(`strconv.ParseUint: parsing ${goQuote(digits)}: value out of range`)
  return value
}

const numberNames = ['major', 'minor', 'patch']

const readNumber = (text: string, place: number): bigint => {
  const name = numberNames[place]!
  const shown = goQuote(text)
  if (text === '') return fail('strconv.ParseUint: parsing "": invalid syntax')
  if (!/^\d+$/.test(text)) return fail(`Invalid character(s) found in ${name} number ${shown}`)
  if (text.length > 1 && text.startsWith('0'))
    return fail(
      `${name[0]!.toUpperCase()}${name.slice(1)} number must not contain leading zeroes ${shown}`,
    )
  return unsigned(text)
}

const checkPreRelease = (part: string): void => {
  const shown = goQuote(part)
  if (part === '') fail('Prerelease is empty')
  if (/^\d+$/.test(part)) {
    if (part.length > 1 && part.startsWith('0'))
      fail(`Numeric PreRelease version must not contain leading zeroes ${shown}`)
    unsigned(part)
  } else if (!/^[0-9A-Za-z-]+$/.test(part))
    fail(`Invalid character(s) found in prerelease ${shown}`)
}

const parse = (text: string): Semver => {
  if (text === '') fail('Version string empty')
  const parts = text.split('.')
  if (parts.length < 3) fail('No Major.Minor.Patch elements found')
  const major = readNumber(parts[0]!, 0)
  const minor = readNumber(parts[1]!, 1)
  let patch = parts.slice(2).join('.')
  const plus = patch.indexOf('+')
  const build = plus < 0 ? undefined : patch.slice(plus + 1).split('.')
  if (plus >= 0) patch = patch.slice(0, plus)
  const dash = patch.indexOf('-')
  const preRelease = dash < 0 ? [] : patch.slice(dash + 1).split('.')
  const number = readNumber(dash < 0 ? patch : patch.slice(0, dash), 2)
  for (const part of preRelease) checkPreRelease(part)
  for (const part of build ?? []) {
    if (part === '') fail('Build meta data is empty')
    if (!/^[0-9A-Za-z-]+$/.test(part))
      fail(`Invalid character(s) found in build meta data ${goQuote(part)}`)
  }
  return new Semver([major, minor, number], preRelease)
}

/** A zero stays, also before what is no digit. */
const withoutZeros = (part: string): string => {
  const rest = part.replace(/^0+/, '')
  return /^\d/.test(rest) ? rest : `0${rest}`
}

/** Without a `v` and leading zeros, and with what is missing of three numbers. */
const normalized = (text: string): string => {
  const [, ...rest] = /^v?([^.]*)(?:\.([^.]*))?(?:\.(.*))?$/s.exec(text)!
  const parts = rest
    .filter((part) => part !== undefined)
    .map((part) => (part.length > 1 ? withoutZeros(part) : part))
  if (parts.length < 3 && /[+-]/.test(parts.at(-1)!))
    fail('short version cannot contain PreRelease/Build meta data')
  while (parts.length < 3) parts.push('0')
  return parts.join('.')
}

const comparePart = (a: string, b: string): number => {
  const [numericA, numericB] = [/^\d+$/.test(a), /^\d+$/.test(b)]
  if (numericA && numericB) return order(BigInt(a), BigInt(b))
  return numericA === numericB ? order(a, b) : numericA ? -1 : 1
}

const compare = (a: Semver, b: Semver): number => {
  for (const [i, number] of a.numbers.entries()) {
    const found = order(number, b.numbers[i]!)
    if (found !== 0) return found
  }
  // A release comes after what was before it.
  if (a.preRelease.length === 0 || b.preRelease.length === 0)
    return Math.sign(b.preRelease.length - a.preRelease.length)
  for (const [i, part] of a.preRelease.entries()) {
    const other = b.preRelease[i]
    if (other === undefined) return 1
    const found = comparePart(part, other)
    if (found !== 0) return found
  }
  return Math.sign(a.preRelease.length - b.preRelease.length)
}

const read = (text: string, isLenient = false): Semver => parse(isLenient ? normalized(text) : text)

const parses = (text: string, isLenient = false): boolean => {
  try {
    read(text, isLenient)
    return true
  } catch {
    return false
  }
}

export const semverFunctions: Implementations = {
  string_to_semver: (text: string) => read(text),
  string_bool_to_semver: read,
  is_semver_string: (text: string) => parses(text),
  is_semver_string_bool: parses,
  semver_is_greater_than: (a: Semver, b: Semver) => compare(a, b) > 0,
  semver_is_less_than: (a: Semver, b: Semver) => compare(a, b) < 0,
  semver_compare_to: (a: Semver, b: Semver) => BigInt(compare(a, b)),
  semver_major: ({ numbers }: Semver) => BigInt.asIntN(64, numbers[0]),
  semver_minor: ({ numbers }: Semver) => BigInt.asIntN(64, numbers[1]),
  semver_patch: ({ numbers }: Semver) => BigInt.asIntN(64, numbers[2]),
}
