const short: Readonly<Record<number, string>> = {
  7: '\\a',
  8: '\\b',
  9: '\\t',
  10: '\\n',
  11: '\\v',
  12: '\\f',
  13: '\\r',
  34: '\\"',
  92: '\\\\',
}
/** Whatever Go's unicode.IsPrint refuses: all but letters, marks, numbers, punctuation, symbols and the ASCII space. */
export const unprintable = /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/u

const escaped = (char: string): string => {
  const code = char.codePointAt(0)!
  const known = short[code]
  if (known !== undefined) return known
  if (!unprintable.test(char)) return char
  if (code < 0x80) return `\\x${code.toString(16).padStart(2, '0')}`
  return code > 0xffff
    ? `\\U${code.toString(16).padStart(8, '0')}`
    : `\\u${code.toString(16).padStart(4, '0')}`
}

/** A text as Go's %q prints it; JSON's quotes differ in control characters and in what cannot be seen. */
export const goQuote = (text: string): string =>
  /^[ !#-[\]-~]*$/.test(text) ? `"${text}"` : `"${[...text].map(escaped).join('')}"`

/** A list of texts as Go's %q prints it. */
export const goQuoteList = (texts: readonly string[]): string => `[${texts.map(goQuote).join(' ')}]`

/** A slice of texts as Go's %#v prints it, if it is not nil. */
export const goStrings = (texts: readonly string[]): string =>
  `[]string{${texts.map(goQuote).join(', ')}}`
