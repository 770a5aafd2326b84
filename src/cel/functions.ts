/**
 * The functions that Kubernetes adds to CEL for validation rules: strings with RE2 patterns, lists, URLs, quantities,
 * IP addresses (apiserver, pkg/cel/library). Integers are BigInt in CEL.
 */
import { isIP, isIPv4 } from 'node:net'
import { Environment } from '@marcbachmann/cel-js'
import { compareQuantities, parseQuantity, type Quantity } from '#api/quantity.js'
import { compilePattern, matchesPattern } from './patterns.js'

type Scalar = bigint | number | string | boolean

const compare = (a: Scalar, b: Scalar): number => (a < b ? -1 : a > b ? 1 : 0)

class CelUrl {
  readonly url: URL
  constructor(url: URL) {
    this.url = url
  }
}
class CelQuantity {
  readonly quantity: Quantity
  constructor(quantity: Quantity) {
    this.quantity = quantity
  }
}

const parseUrl = (text: string): URL | undefined => {
  try {
    return new URL(text)
  } catch {
    return undefined
  }
}

const isQuantity = (text: string): boolean => {
  try {
    parseQuantity(text)
    return true
  } catch {
    return false
  }
}

const registerStrings = (env: Environment): void => {
  env.registerFunction('string.find(string): string', (text: string, pattern: string) => {
    const matcher = compilePattern(pattern).matcher(text)
    return matcher.find() ? (matcher.group() ?? '') : ''
  })
  const findAll = (text: string, pattern: string, max: bigint): string[] => {
    const matcher = compilePattern(pattern).matcher(text)
    const found: string[] = []
    while ((max < 0n || BigInt(found.length) < max) && matcher.find())
      found.push(matcher.group() ?? '')
    return found
  }
  env.registerFunction('string.findAll(string): list<string>', (text: string, pattern: string) =>
    findAll(text, pattern, -1n),
  )
  env.registerFunction('string.findAll(string, int): list<string>', findAll)
}

const registerLists = (env: Environment): void => {
  const isSorted = (list: Scalar[]) =>
    list.every((v, i) => i === 0 || compare(list[i - 1]!, v) <= 0)
  env.registerFunction('list.isSorted(): bool', isSorted)
  env.registerFunction('list.sum(): dyn', (list: (bigint | number)[]) =>
    typeof list[0] === 'number'
      ? (list as number[]).reduce((a, b) => a + b, 0)
      : (list as bigint[]).reduce((a, b) => a + b, 0n),
  )
  const least = (list: Scalar[], sign: number): Scalar => {
    if (list.length === 0) throw new Error('min/max called on empty list')
    return list.reduce((a, b) => (sign * compare(b, a) < 0 ? b : a))
  }
  env.registerFunction('list.min(): dyn', (list: Scalar[]) => least(list, 1))
  env.registerFunction('list.max(): dyn', (list: Scalar[]) => least(list, -1))
  env.registerFunction('list.indexOf(dyn): int', (list: Scalar[], v: Scalar) =>
    BigInt(list.indexOf(v)),
  )
  env.registerFunction('list.lastIndexOf(dyn): int', (list: Scalar[], v: Scalar) =>
    BigInt(list.lastIndexOf(v)),
  )
}

const registerUrls = (env: Environment): void => {
  env.registerType('kubernetes.URL', { ctor: CelUrl, fields: {} })
  env.registerFunction('isURL(string): bool', (text: string) => parseUrl(text) !== undefined)
  env.registerFunction('url(string): kubernetes.URL', (text: string) => {
    const url = parseUrl(text)
    if (url === undefined) throw new Error(`URL parse error during conversion from string: ${text}`)
    return new CelUrl(url)
  })
  const getter = (name: string, read: (url: URL) => string) =>
    env.registerFunction(`kubernetes.URL.${name}(): string`, ({ url }: CelUrl) => read(url))
  getter('getScheme', (u) => u.protocol.slice(0, -1))
  getter('getHost', (u) => u.host)
  getter('getHostname', (u) => u.hostname.replace(/^\[(.*)\]$/, '$1'))
  getter('getPort', (u) => u.port)
  getter('getEscapedPath', (u) => u.pathname)
}

const registerQuantities = (env: Environment): void => {
  env.registerType('kubernetes.Quantity', { ctor: CelQuantity, fields: {} })
  env.registerFunction('isQuantity(string): bool', isQuantity)
  env.registerFunction(
    'quantity(string): kubernetes.Quantity',
    (text: string) => new CelQuantity(parseQuantity(text)),
  )
  const compareTo = (a: CelQuantity, b: CelQuantity) => compareQuantities(a.quantity, b.quantity)
  const q = 'kubernetes.Quantity'
  env.registerFunction(
    `${q}.isLessThan(${q}): bool`,
    (a: CelQuantity, b: CelQuantity) => compareTo(a, b) < 0,
  )
  env.registerFunction(
    `${q}.isGreaterThan(${q}): bool`,
    (a: CelQuantity, b: CelQuantity) => compareTo(a, b) > 0,
  )
  env.registerFunction(`${q}.compareTo(${q}): int`, (a: CelQuantity, b: CelQuantity) =>
    BigInt(compareTo(a, b)),
  )
}

const registerAddresses = (env: Environment): void => {
  env.registerFunction('isIP(string): bool', (text: string) => isIP(text) !== 0)
  env.registerFunction('isCIDR(string): bool', (text: string) => {
    const [address, bits, more] = text.split('/')
    if (more !== undefined || bits === undefined || !/^\d{1,3}$/.test(bits)) return false
    return isIP(address!) !== 0 && Number(bits) <= (isIPv4(address!) ? 32 : 128)
  })
}

/**
 * `matches` under a name of our own and of the same length: the engine's own one would run V8's backtracking
 * expressions. `withLinearPatterns` puts it into a rule's text, so that positions in messages stay right.
 */
const registerMatches = (env: Environment): void => {
  env.registerFunction('string.re2find(string): bool', (text: string, pattern: string) =>
    matchesPattern(pattern, text),
  )
}

export const withLinearPatterns = (rule: string): string =>
  rule.replace(
    /("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|\.matches(?=\s*\()/g,
    (_all, literal: string | undefined) => literal ?? '.re2find',
  )

const base = (): Environment => {
  const env = new Environment({ enableOptionalTypes: true, homogeneousAggregateLiterals: false })
  registerStrings(env)
  registerLists(env)
  registerUrls(env)
  registerQuantities(env)
  registerAddresses(env)
  registerMatches(env)
  return env
}

let shared: Environment | undefined

/** A fresh environment with all functions and no variables. */
export const ruleEnvironment = (): Environment => {
  shared ??= base()
  return shared.clone()
}
