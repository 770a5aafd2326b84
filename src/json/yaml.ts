/**
 * JSON values as goyaml.v2 writes them, which is what `Accept: application/yaml` answers with: block style, keys in its
 * natural order, lines broken at the first space beyond 80 columns. Facts: goyaml.v2, encode.go and emitterc.go.
 */
import { isJsonObject } from '#json/object.js'
import type { JsonValue } from '#json/value.js'
import { inNaturalOrder } from './yaml-keys.js'
import { escapes, isBreak, isPrintable, numberText, type Style, styleOf } from './yaml-scalar.js'

const lineWidth = 80
const step = 2
/** A longer key, in bytes, is not a simple key: it is written behind a question mark. */
const longestSimpleKey = 128

class YamlWriter {
  readonly #parts: string[] = []
  #column = 0
  /** Whether white space was written last; whether nothing but indentation and indicators of this line was. */
  #isSpaced = true
  #isIndention = true

  text(): string {
    return this.#parts.join('')
  }

  #put(text: string): void {
    this.#parts.push(text)
    this.#column += text.length
  }

  /** Others than the usual break are written as they are, and count as one. */
  #break(char = '\n'): void {
    this.#parts.push(char)
    this.#column = 0
    this.#isIndention = true
  }

  newLine(indent: number): void {
    const isHere = this.#column < indent || (this.#column === indent && this.#isSpaced)
    if (!this.#isIndention || !isHere) this.#break()
    this.#put(' '.repeat(indent - this.#column))
    this.#isSpaced = true
    this.#isIndention = true
  }

  indicator(text: string, { spaced = false, keepsIndention = false } = {}): void {
    if (spaced && !this.#isSpaced) this.#put(' ')
    this.#put(text)
    this.#isSpaced = false
    this.#isIndention &&= keepsIndention
  }

  node(value: JsonValue, indent: number, isValue: boolean): void {
    if (Array.isArray(value)) this.#sequence(value, indent, isValue)
    else if (isJsonObject(value)) this.#mapping(value, indent)
    else if (typeof value === 'string') this.#string(value, indent, styleOf(value), true)
    else this.#plain(value === null ? 'null' : numberText(value), indent, true)
  }

  #mapping(object: Record<string, JsonValue>, outer: number): void {
    const keys = Object.keys(object)
    if (keys.length === 0) this.indicator('{}', { spaced: true })
    const indent = outer < 0 ? 0 : outer + step
    for (const key of keys.sort(inNaturalOrder)) {
      this.newLine(indent)
      if (Buffer.byteLength(key) > longestSimpleKey || isBreak.test(key)) {
        this.indicator('?', { spaced: true, keepsIndention: true })
        this.#string(key, indent, styleOf(key), true)
        this.newLine(indent)
        this.indicator(':', { spaced: true, keepsIndention: true })
      } else {
        this.#string(key, indent, styleOf(key), false)
        this.indicator(':')
      }
      this.node(object[key]!, indent, true)
    }
  }

  /** A list that is a key's value stands as far in as the key. */
  #sequence(items: JsonValue[], outer: number, isValue: boolean): void {
    if (items.length === 0) this.indicator('[]', { spaced: true })
    const indent = outer < 0 ? 0 : isValue && !this.#isIndention ? outer : outer + step
    for (const item of items) {
      this.newLine(indent)
      this.indicator('-', { spaced: true, keepsIndention: true })
      this.node(item, indent, false)
    }
  }

  #string(text: string, outer: number, style: Style, mayBreak: boolean): void {
    const indent = Math.max(outer, 0) + step
    if (style === 'plain') this.#plain(text, outer, mayBreak)
    else if (style === 'single') this.#single(text, indent, mayBreak)
    else if (style === 'double') this.#double(text, indent, mayBreak)
    else this.#literal(text, indent)
  }

  #plain(text: string, outer: number, mayBreak: boolean): void {
    if (!this.#isSpaced) this.#put(' ')
    this.#words([...text], Math.max(outer, 0) + step, mayBreak, (char) => this.#put(char))
    this.#isSpaced = false
    this.#isIndention = false
  }

  /** Characters and single spaces; a space beyond the width becomes a line break, unless another one follows. */
  #words(
    chars: string[],
    indent: number,
    mayBreak: boolean,
    write: (char: string, at: number) => void,
  ): void {
    let wasSpace = false
    for (const [at, char] of chars.entries()) {
      const isBetween = at > 0 && at < chars.length - 1 && chars[at + 1] !== ' '
      if (char === ' ' && mayBreak && !wasSpace && this.#column > lineWidth && isBetween)
        this.newLine(indent)
      else write(char, at)
      if (char !== ' ' && !isBreak.test(char)) this.#isIndention = false
      wasSpace = char === ' '
    }
  }

  #single(text: string, indent: number, mayBreak: boolean): void {
    this.indicator("'", { spaced: true })
    let wasBreak = false
    this.#words([...text], indent, mayBreak, (char) => {
      if (isBreak.test(char)) this.#break(char)
      else {
        if (wasBreak) this.newLine(indent)
        this.#put(char === "'" ? "''" : char)
      }
      wasBreak = isBreak.test(char)
    })
    this.indicator("'")
  }

  #double(text: string, indent: number, mayBreak: boolean): void {
    this.indicator('"', { spaced: true })
    const chars = [...text]
    // Looking for one, goyaml looks at the first character alone (yamlprivateh.go, is_bom).
    const isMarked = chars[0] === '\ufeff'
    let wasSpace = false
    for (const [at, char] of chars.entries()) {
      const isSpace = char === ' ' && !isMarked
      const isBetween = at > 0 && at < chars.length - 1
      if (isSpace && mayBreak && !wasSpace && this.#column > lineWidth && isBetween) {
        this.newLine(indent)
        // Otherwise a reader would take the next space for indentation.
        if (chars[at + 1] === ' ') this.#put('\\')
      } else {
        const isShown = isPrintable(char) && !/["\\]/.test(char) && !isMarked
        this.#put(isShown ? char : escapes(char))
      }
      wasSpace = isSpace
    }
    this.indicator('"')
  }

  #literal(text: string, indent: number): void {
    const parts = text.split(isBreak)
    this.indicator('|', { spaced: true })
    if (text.startsWith(' ') || parts[0] === '') this.indicator(String(step))
    if (parts.at(-1) !== '') this.indicator('-')
    else if (parts.at(-2) === '') this.indicator('+')
    this.#break()
    this.#isSpaced = true
    let at = 0
    for (const part of parts) {
      if (part !== '') {
        this.newLine(indent)
        this.#put(part)
        this.#isIndention = false
      }
      at += part.length
      if (at < text.length) this.#break(text[at++])
    }
  }
}

export const formatYaml = (value: JsonValue): string => {
  const writer = new YamlWriter()
  writer.node(value, -1, false)
  writer.newLine(0)
  return writer.text()
}
