/** Reads JSON paths as client-go does (util/jsonpath, parser.go): letter by letter, oddities included. */
import { pushAll } from '#collections/push-all.js'
import { limits } from '#limits'

/** One end of a slice, or its step. */
interface Part {
  /** Undefined: as far as the list goes. */
  readonly at: number | undefined
  /** The end of a single index, one behind it. */
  readonly isDerived?: true
}

/** A number that was written with a point. */
export class Float {
  readonly value: number
  constructor(value: number) {
    this.value = value
  }
}

export type Step =
  | { type: 'field'; name: string }
  | { type: 'all' }
  | { type: 'recurse' }
  | { type: 'slice'; from: Part; to: Part; by: Part }
  | { type: 'union'; of: Step[][] }
  | { type: 'filter'; left: Step[]; operator: string; right: Step[] }
  | { type: 'text'; value: string }
  | { type: 'constant'; value: number | boolean | Float }
  | { type: 'unknown' }

class PathFault extends Error {}

const ends = new Set([...' \t\r\n.,[]$@{}'])
const isName = (char: string): boolean => /^[\p{L}\p{Nd}_]$/u.test(char)

/** A pattern would look at each space of a long row again and again. */
const withoutSpaces = (text: string): string => {
  let [from, to] = [0, text.length]
  while (text[from] === ' ') from++
  while (to > from && text[to - 1] === ' ') to--
  return text.slice(from, to)
}

/** Go's Atoi; undefined for what is no integer of 64 bits. */
const integerOf = (text: string): number | undefined => {
  const [, sign, digits = ''] = /^([+-]?)0*(\d+)$/.exec(text) ?? []
  if (digits === '' || digits.length > 19) return undefined
  const n = BigInt(digits) * (sign === '-' ? -1n : 1n)
  return BigInt.asIntN(64, n) === n ? Number(n) : undefined
}

const escapes: Readonly<Record<string, string>> = {
  ...{ a: '\x07', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' },
  ...{ '\\': '\\' },
}

/** What stands between the quotes. */
const unquoted = (text: string, quote: string): string =>
  text.replace(
    /\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{3})|([\s\S]?))/g,
    (_all, x?: string, u?: string, long?: string, octal?: string, one = '') => {
      const hex = x ?? u ?? long
      if (hex !== undefined || octal !== undefined) {
        const code = hex === undefined ? Number.parseInt(octal!, 8) : Number.parseInt(hex, 16)
        if (code > 0x10ffff) throw new PathFault()
        return String.fromCodePoint(code)
      }
      const plain = one === quote ? quote : escapes[one]
      if (plain === undefined) throw new PathFault()
      return plain
    },
  )

const partOf = (text: string | undefined): Part => {
  const digits = text?.replace(':', '') ?? ''
  if (digits === '') return { at: undefined }
  const at = integerOf(digits)
  if (at === undefined) throw new PathFault()
  return { at }
}

/** A template's actions, each in braces. What stands between them does not matter here. */
class Parser {
  readonly #text: string
  readonly #depth: number
  #at = 0

  constructor(text: string, depth: number) {
    if (depth > limits.jsonPathNestingMax) throw new PathFault()
    this.#text = text
    this.#depth = depth
  }

  actions(): Step[][] {
    const actions: Step[][] = []
    for (;;) {
      const open = this.#text.indexOf('{', this.#at)
      if (open < 0) return actions
      this.#at = open + 1
      actions.push(this.#action())
    }
  }

  #action(): Step[] {
    const steps: Step[] = []
    while (!this.#startsWith('}')) {
      if (this.#startsWith('[?(')) steps.push(this.#filter())
      else if (this.#startsWith('..')) this.#recurse(steps)
      else pushAll(steps, this.#step())
    }
    this.#at++
    return steps
  }

  #startsWith(prefix: string): boolean {
    return this.#text.startsWith(prefix, this.#at)
  }

  /** Empty at the end. */
  #peek(): string {
    const code = this.#text.codePointAt(this.#at)
    return code === undefined ? '' : String.fromCodePoint(code)
  }

  #next(): string {
    const char = this.#peek()
    this.#at += char.length
    return char
  }

  #step(): Step[] {
    const char = this.#peek()
    if (char === '.') {
      this.#next()
      return [this.#field()]
    }
    if (/^[+-]$|^\p{Nd}$/u.test(char)) return [this.#number()]
    if (isName(char)) return [this.#identifier()]
    this.#next()
    if (char === ' ' || char === '@' || char === '$') return []
    if (char === '[') return this.#array()
    if (char === '"' || char === "'") return [this.#quote(char)]
    throw new PathFault()
  }

  #recurse(steps: Step[]): void {
    if (steps.at(-1)?.type === 'recurse') throw new PathFault()
    this.#at += 2
    steps.push({ type: 'recurse' })
    if (isName(this.#peek())) steps.push(this.#field())
  }

  /** What stands before the next letter that ends a name. */
  #word(): string {
    const start = this.#at
    for (let char = this.#peek(); char !== '' && !ends.has(char); char = this.#peek()) {
      this.#next()
      if (char === '\\') this.#next()
    }
    return this.#text.slice(start, this.#at)
  }

  #field(): Step {
    const name = this.#word()
    return name === '*' ? { type: 'all' } : { type: 'field', name: name.replaceAll('\\', '') }
  }

  #identifier(): Step {
    const start = this.#at
    while (this.#peek() !== '' && !ends.has(this.#peek())) this.#next()
    const name = this.#text.slice(start, this.#at)
    if (name !== 'true' && name !== 'false') return { type: 'unknown' }
    return { type: 'constant', value: name === 'true' }
  }

  #number(): Step {
    const start = this.#at
    if (/[+-]/.test(this.#peek())) this.#next()
    while (/^\.$|^\p{Nd}$/u.test(this.#peek())) this.#next()
    const text = this.#text.slice(start, this.#at)
    const value = integerOf(text)
    if (value !== undefined) return { type: 'constant', value }
    if (!/^[+-]?(?:\d+(?:\.\d*)?|\.\d+)$/.test(text)) throw new PathFault()
    return { type: 'constant', value: new Float(Number(text)) }
  }

  #quote(quote: string): Step {
    const start = this.#at
    for (let char = this.#next(); ; char = this.#next()) {
      if (char === '' || char === '\n') throw new PathFault()
      if (char === quote && this.#text[this.#at - 2] !== '\\') break
    }
    return { type: 'text', value: unquoted(this.#text.slice(start, this.#at - 1), quote) }
  }

  /** The first action of a text of its own. */
  #inner(text: string): Step[] {
    const [first] = new Parser(`{${text}}`, this.#depth + 1).actions()
    return first!
  }

  #array(): Step[] {
    const start = this.#at
    for (let char = this.#next(); char !== ']'; char = this.#next())
      if (char === '' || char === '\n') throw new PathFault()
    const text = this.#text.slice(start, this.#at - 1)
    const parts = text.split(',')
    if (parts.length > 1)
      return [
        {
          type: 'union',
          of: parts.map((part) => this.#inner(`[${withoutSpaces(part)}]`)),
        },
      ]
    // A quoted name is read as if it stood behind a dot: dots in it have to be escaped.
    const key = /^'([^']*)'$/.exec(text)
    if (key !== null) return this.#inner(`.${key[1]}`)
    const slice = /^(-?\d*)(:-?\d*)?(:-?\d*)?$/.exec(text === '*' ? ':' : text)
    if (slice === null) throw new PathFault()
    const from = partOf(slice[1])
    const to: Part =
      slice[2] === undefined ? { at: (from.at ?? 0) + 1, isDerived: true } : partOf(slice[2])
    return [{ type: 'slice', from, to, by: partOf(slice[3]) }]
  }

  /** Ends at the first parenthesis that is not in its only quotes. */
  #filter(): Step {
    this.#at += 3
    const start = this.#at
    let pair: string | undefined
    let isClosed = false
    for (
      let char = this.#next();
      char !== ')' || (pair !== undefined) !== isClosed;
      char = this.#next()
    ) {
      if (char === '' || char === '\n') throw new PathFault()
      if (char !== '"' && char !== "'") continue
      if (pair === undefined) pair = char
      else if (char === pair && this.#text[this.#at - 2] !== '\\') isClosed = true
    }
    const text = this.#text.slice(start, this.#at - 1)
    if (this.#next() !== ']') throw new PathFault()
    const compared = /^([^!<>=]+)([!<>=]+)(.+)$/.exec(text)
    if (compared === null)
      return { type: 'filter', left: this.#inner(text), operator: 'exists', right: [] }
    const [, left, operator, right] = compared
    return {
      type: 'filter',
      left: this.#inner(left!),
      operator: operator!,
      right: this.#inner(right!),
    }
  }
}

/** The actions of `{…}`; undefined when it cannot be read. */
export const parseJsonPath = (text: string): Step[][] | undefined => {
  try {
    return new Parser(`{${text}}`, 0).actions()
  } catch (error) {
    if (error instanceof PathFault) return undefined
    throw error
  }
}
