/** Where and why a text is no JSON, in the words of Go's encoding/json. Only texts that JSON.parse refused come here. */
import { limits } from '#limits'

const quoteByte = (char: string): string => {
  if (char === "'") return `'\\''`
  if (char === '"') return `'"'`
  const byte = char.charCodeAt(0)
  if (byte === 0x5c) return `'\\\\'`
  if (byte >= 0x20 && byte < 0x7f) return `'${char}'`
  const named: Record<number, string> = {
    7: 'a',
    8: 'b',
    9: 't',
    10: 'n',
    11: 'v',
    12: 'f',
    13: 'r',
  }
  if (named[byte] !== undefined) return `'\\${named[byte]}'`
  if (byte < 0x20 || byte === 0x7f) return `'\\x${byte.toString(16).padStart(2, '0')}'`
  if (byte < 0xa1 || byte === 0xad) return `'\\u00${byte.toString(16)}'`
  return `'${String.fromCharCode(byte)}'`
}

const endOfInput = 'unexpected end of JSON input'

class Found extends Error {}

class Scanner {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  scan(): void {
    // A stack of its own, so that depth costs no frames.
    const open: ('{' | '[')[] = []
    for (;;) {
      this.#space()
      const opened = this.#valueOrOpen(open)
      if (opened) continue
      for (;;) {
        this.#space()
        const inside = open[open.length - 1]
        if (inside === undefined) {
          if (this.#at < this.#text.length) this.#fail('after top-level value')
          return
        }
        const close = inside === '{' ? '}' : ']'
        const char = this.#text[this.#at]
        if (char === close) {
          this.#at++
          open.pop()
          continue
        }
        if (char !== ',')
          this.#fail(`after ${inside === '{' ? 'object key:value pair' : 'array element'}`)
        this.#at++
        if (inside === '{') this.#key()
        break
      }
    }
  }

  /** True when a container was opened that is not empty: its first value comes next. */
  #valueOrOpen(open: ('{' | '[')[]): boolean {
    const char = this.#text[this.#at]
    if (char === '{' || char === '[') {
      if (open.length >= limits.jsonDepthMax) this.#fail('exceeded max depth')
      this.#at++
      this.#space()
      if (this.#text[this.#at] === (char === '{' ? '}' : ']')) {
        this.#at++
        return false
      }
      open.push(char)
      if (char === '{') this.#key()
      return true
    }
    if (char === '"') this.#string()
    else if (char === '-' || (char !== undefined && char >= '0' && char <= '9')) this.#number()
    else if (char === 't') this.#literal('true')
    else if (char === 'f') this.#literal('false')
    else if (char === 'n') this.#literal('null')
    else this.#fail('looking for beginning of value')
    return false
  }

  #key(): void {
    this.#space()
    if (this.#text[this.#at] !== '"') this.#fail('looking for beginning of object key string')
    this.#string()
    this.#space()
    if (this.#text[this.#at] !== ':') this.#fail('after object key')
    this.#at++
  }

  #string(): void {
    this.#at++
    for (;;) {
      const char = this.#text[this.#at]
      if (char === undefined || char < ' ') this.#fail('in string literal')
      this.#at++
      if (char === '"') return
      if (char === '\\') this.#escape()
    }
  }

  #escape(): void {
    const char = this.#text[this.#at]
    if (char === undefined || !'"\\/bfnrtu'.includes(char)) this.#fail('in string escape code')
    this.#at++
    if (char !== 'u') return
    for (let i = 0; i < 4; i++, this.#at++)
      if (!/^[0-9a-fA-F]$/.test(this.#text[this.#at] ?? ''))
        this.#fail('in \\u hexadecimal character escape')
  }

  #number(): void {
    if (this.#text[this.#at] === '-') this.#at++
    if (!this.#isDigit()) this.#fail('in numeric literal')
    if (this.#text[this.#at] === '0') this.#at++
    else this.#digits()
    if (this.#text[this.#at] === '.') {
      this.#at++
      if (!this.#isDigit()) this.#fail('after decimal point in numeric literal')
      this.#digits()
    }
    if (this.#text[this.#at] === 'e' || this.#text[this.#at] === 'E') {
      this.#at++
      if (this.#text[this.#at] === '+' || this.#text[this.#at] === '-') this.#at++
      if (!this.#isDigit()) this.#fail('in exponent of numeric literal')
      this.#digits()
    }
  }

  #literal(word: string): void {
    for (let i = 1; i < word.length; i++) {
      this.#at++
      if (this.#text[this.#at] !== word[i])
        this.#fail(`in literal ${word} (expecting '${word[i]}')`)
    }
    this.#at++
  }

  #isDigit(): boolean {
    const char = this.#text[this.#at]
    return char !== undefined && char >= '0' && char <= '9'
  }

  #digits(): void {
    while (this.#isDigit()) this.#at++
  }

  #space(): void {
    while (' \t\r\n'.includes(this.#text[this.#at] ?? 'x')) this.#at++
  }

  #fail(context: string): never {
    if (this.#at >= this.#text.length) throw new Found(endOfInput)
    throw new Found(`invalid character ${quoteByte(this.#text[this.#at]!)} ${context}`)
  }
}

/** Go looks at bytes, of no character as well: of a longer character it names the first. */
export const jsonSyntaxMessage = (text: string | Buffer): string => {
  try {
    new Scanner((typeof text === 'string' ? Buffer.from(text) : text).toString('latin1')).scan()
  } catch (error) {
    if (error instanceof Found) return error.message
    throw error
  }
  return endOfInput
}
