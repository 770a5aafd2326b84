/** Keys of YAML maps, which goyaml.v2 decodes as any value and sigs.k8s.io/yaml then makes texts of. */

import type { Scalar } from 'yaml'
import { formatDouble } from '#go/number.js'
import { goQuote } from '#go/quote.js'
import { int64Max, int64Min, uint64Max } from '#json/int64.js'
import type { JsonValue } from '#json/value.js'
import { goSyntax } from '../go-print.js'
import { YamlSyntaxError } from './messages.js'

type Yaml = typeof import('yaml')

export interface YamlKey {
  readonly text: string
  /** As fmt prints it with %#v. */
  readonly shown: string
  /** Of one that is no text. */
  readonly kind?: 'bool' | 'float' | 'int'
}

/** As fmt prints a decoded value with %#v. */
const printed = (value: JsonValue): string => goSyntax(value, 'map[interface {}]interface {}')

const unsupported = (type: string, key: string, value: JsonValue): YamlSyntaxError =>
  new YamlSyntaxError(`unsupported map key of type: ${type}, key: ${key}, value: ${printed(value)}`)

const fewestDigits = 1
const mostDigits = 9

/** The shortest digits that give the same 32-bit float: strconv.FormatFloat(…, 'g', -1, 32). */
const shortestOf32Bits = (value: number): number => {
  const wanted = Math.fround(value)
  for (let digits = fewestDigits; digits <= mostDigits; digits++) {
    const short = Number(wanted.toPrecision(digits))
    if (Math.fround(short) === wanted) return short
  }
  return wanted
}

const floatText = (value: number): string => {
  const bits32 = Math.fround(value)
  if (Number.isNaN(value)) return '.nan'
  if (!Number.isFinite(bits32)) return value > 0 ? '.inf' : '-.inf'
  return formatDouble(shortestOf32Bits(bits32))
}

/** Whether Go decodes it as a float: whole numbers are BigInts in what the library gives. */
const isFloat = ({ value, tag }: Scalar): boolean =>
  typeof value === 'bigint'
    ? value < int64Min || value > uint64Max
    : typeof value === 'number' || tag === 'tag:yaml.org,2002:float'

const plain = (text: string, kind: YamlKey['kind']): YamlKey => ({ text, shown: text, kind })

/** `key` is what `node` says, and `value` what is behind it. Throws YamlSyntaxError. */
export const yamlKeyOf = (
  node: unknown,
  key: JsonValue,
  value: JsonValue,
  { isScalar }: Yaml,
): YamlKey => {
  if (typeof key === 'string') return { text: key, shown: goQuote(key) }
  if (key === null) throw unsupported('%!s(<nil>)', '<nil>', value)
  if (typeof key === 'object') throw new YamlSyntaxError(`yaml: invalid map key: ${printed(key)}`)
  if (typeof key === 'boolean') return plain(String(key), 'bool')
  if (isScalar(node) && isFloat(node)) return plain(floatText(Number(key)), 'float')
  const whole = BigInt(key)
  if (whole > int64Max) throw unsupported('uint64', `0x${whole.toString(16)}`, value)
  return plain(String(key), 'int')
}
