/** How goyaml.v2 writes a scalar: which style holds it, how characters are escaped, how numbers look. */

export type Style = 'plain' | 'single' | 'double' | 'literal'

// What would be read back as something other than a string: null, a boolean, a number of base 2 or 60.
const readsAsOther = new RegExp(
  [
    '~|null|Null|NULL',
    'y|Y|yes|Yes|YES|n|N|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF',
    '0b[-+][01]+',
    '[-+]?\\.(?:inf|Inf|INF)|\\.(?:nan|NaN|NAN)',
    '[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\\.[0-9_]*)?',
  ]
    .map((form) => `^(?:${form})?$`)
    .join('|'),
)
// Behind a point that comes first, underscores stand between digits as in Go itself; elsewhere they do not count.
const float = /^(?:\.\d+(?:_\d+)*|[-+]?(?:\.\d+|\d+(?:\.\d*)?))(?:[eE][-+]?\d+)?$/
const based = /^([-+]?)(0(?:[xX][\da-fA-F]+|[oO][0-7]+|[bB][01]+))$/
const day = '(\\d{4}-\\d{1,2}-\\d{1,2})'
const hour = '(?:2[0-3]|[01]?\\d)(?::[0-5]?\\d){2}(?:\\.\\d+)?'
const zone = '(?:Z|[-+](?:2[0-4]|[01]\\d):[0-5]\\d)'
// A zone goes with the T, and with it alone.
const time = new RegExp(`^${day}(?:[Tt]${hour}${zone}| ${hour})?$`)

const isDay = (text: string): boolean => {
  const [year, month, day] = text.split('-').map(Number) as [number, number, number]
  const date = new Date(Date.UTC(2000, month - 1, day))
  date.setUTCFullYear(year, month - 1, day)
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day
}

/** Numbers and times that Go cannot hold are texts to it. */
const readsAsNumberOrTime = (text: string): boolean => {
  const plain = /^[-+\d]/.test(text) ? text.replaceAll('_', '') : text
  if (float.test(plain)) return Number.isFinite(Number(plain.replaceAll('_', '')))
  const [, sign, digits] = based.exec(plain) ?? []
  if (digits === undefined) return isDay(time.exec(text)?.[1] ?? '')
  const end = { '': 2n ** 64n, '+': 2n ** 63n, '-': 2n ** 63n + 1n }[sign!]!
  return BigInt(digits) < end
}

export const isBreak = /[\r\n\u0085\u2028\u2029]/
const unprintable = /[^\n\x20-\x7e\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd]/u

/** Of one character. Tabs, line breaks and what needs a surrogate pair are none. */
export const isPrintable = (char: string): boolean => !isBreak.test(char) && !unprintable.test(char)

/** Characters that mean something at the beginning of a plain scalar, or within it. */
const indicates = /^(?:---|\.\.\.|[#,[\]{}&*!|>'"%@`]|[?:-](?: |$))|:(?: |$)| #/

export const styleOf = (text: string): Style => {
  const isSpecial = unprintable.test(text) || / [\r\n\u0085\u2028\u2029]/.test(text)
  if (text.includes('\n')) return isSpecial || text.endsWith(' ') ? 'double' : 'literal'
  if (isSpecial || readsAsOther.test(text) || readsAsNumberOrTime(text)) return 'double'
  // A space behind a line break is lost where lines are folded.
  if (/[\r\u0085\u2028\u2029] /.test(text)) return 'double'
  const isPlain = !indicates.test(text) && !isBreak.test(text) && !/^ | $/.test(text)
  return isPlain ? 'plain' : 'single'
}

const named: Readonly<Record<string, string>> = {
  '\0': '\\0',
  '\x07': '\\a',
  '\b': '\\b',
  '\t': '\\t',
  '\n': '\\n',
  '\v': '\\v',
  '\f': '\\f',
  '\r': '\\r',
  '\x1b': '\\e',
  '"': '\\"',
  '\\': '\\\\',
  '\x85': '\\N',
  '\u2028': '\\L',
  '\u2029': '\\P',
}

export const escapes = (char: string): string => {
  const known = named[char]
  if (known !== undefined) return known
  const code = char.codePointAt(0)!
  const [letter, width] = code <= 0xff ? ['x', 2] : code <= 0xffff ? ['u', 4] : ['U', 8]
  return `\\${letter}${code.toString(16).toUpperCase().padStart(width, '0')}`
}

const int64Min = -(2 ** 63)
const uint64End = 2 ** 64

/** Whole numbers of up to 64 bits in digits, others as Go's strconv has them: with an exponent below -4 and from 6 on. */
export const numberText = (value: number | bigint | boolean): string => {
  if (typeof value === 'boolean') return String(value)
  const isWhole = typeof value === 'bigint' || Number.isInteger(value)
  // A float of -2^63 has other digits in JSON, which are beyond an int64.
  const isHeld = typeof value === 'bigint' ? value >= int64Min : value > int64Min
  if (isWhole && isHeld && value < uint64End) return String(value)
  const [digits = '', exponent = ''] = Number(value).toExponential().split('e')
  const power = Number(exponent)
  if (power >= -4 && power < 6) return String(value)
  return `${digits}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`
}
