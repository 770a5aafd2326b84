/** What goyaml.v2 says of a text that is no YAML, from what the library found. */

/** The text is no YAML; the message is in the manner of Go's decoder. */
export class YamlSyntaxError extends Error {}

interface YamlFault {
  readonly code: string
  readonly message: string
  /** The line of its first character, from 1. */
  readonly line: number
  /** The text from the fault on. */
  readonly from: string
  /** The text before the fault. */
  readonly before: string
  /** The text ended within a line: Go's parser counts one line more. */
  readonly pastEnd: boolean
}

interface GoFault {
  readonly text: string
  /** Found by the scanner, not by the parser: Go counts their lines differently. */
  readonly scanner?: true
  /** Go notices it only at the next line. */
  readonly late?: boolean
}

const nodeContent: GoFault = { text: 'did not find expected node content' }
const noToken: GoFault = { text: 'found character that cannot start any token', scanner: true }

const notHere = (what: string): GoFault => ({
  text: `${what} are not allowed in this context`,
  scanner: true,
})

const byCode: Readonly<Partial<Record<string, GoFault>>> = {
  BAD_ALIAS: { text: 'did not find expected alphabetic or numeric character', scanner: true },
  BAD_DIRECTIVE: { text: 'found unknown directive name' },
  BAD_SCALAR_START: noToken,
  BLOCK_AS_IMPLICIT_KEY: notHere('mapping values'),
  BLOCK_IN_FLOW: { text: "did not find expected ',' or '}'" },
  KEY_OVER_1024_CHARS: { text: "could not find expected ':'", scanner: true },
  MULTIPLE_ANCHORS: { text: 'did not find expected key' },
  MULTILINE_IMPLICIT_KEY: { text: "could not find expected ':'", scanner: true },
}

const afterPlainScalar = /[^\s:\]}"'>|,-][^\S\n]*\n\s*$/

/** Whether a line before what begins here has a key in the same column: then the scanner takes it for a key. */
const isAmongKeys = (before: string): boolean => {
  const lines = before.split('\n')
  const own = /^ *(?=(?:[!&]\S* +)*$)/.exec(lines.pop() ?? '')?.[0]
  if (own === undefined) return false
  for (const line of lines.reverse()) {
    if (/^ *(?:#.*)?$/.test(line)) continue
    const column = /^ *(?:- +)*/.exec(line)![0].length
    if (column === own.length) return !/^---/.test(line)
    if (line.search(/[^ ]/) < own.length) return false
  }
  return false
}

/** The bracket that is open at the end of a text. */
const openBracket = (text: string): string | undefined => {
  const open: string[] = []
  const plain = text.replaceAll(/"(?:\\.|[^"\\])*"?|'[^']*'?|(?:^|\s)#.*/g, '')
  for (const [bracket] of plain.matchAll(/[[\]{}]/g))
    if (bracket === '[' || bracket === '{') open.push(bracket)
    else open.pop()
  return open.at(-1)
}

const goFault = ({ code, message, before, from }: YamlFault): GoFault => {
  // Where the sequence begins, which may be a line further.
  if (/^A block sequence may not/.test(message))
    return { text: 'did not find expected key', late: from.startsWith('\n') }
  if (code === 'MULTILINE_IMPLICIT_KEY') {
    const bracket = openBracket(before)
    if (bracket !== undefined)
      return { text: `did not find expected ',' or '${bracket === '[' ? ']' : '}'}'` }
    if (!isAmongKeys(before)) return notHere('mapping values')
  }
  if (code === 'BLOCK_AS_IMPLICIT_KEY' && /^\?\s/.test(from)) return notHere('mapping keys')
  if (/block-seq-ind on same line/.test(message)) return notHere('block sequence entries')
  const isAfterHeader = /^Not a YAML token/.test(message) && /[|>][-+\d]* +$/.test(before)
  if (isAfterHeader || /Block scalar header/.test(message))
    return {
      text: /[|>]0/.test(message)
        ? 'found an indentation indicator equal to 0'
        : 'did not find expected comment or line break',
      scanner: true,
    }
  if (/scalar at node end/.test(message)) return { text: 'did not find expected key' }
  if (/directives-end/.test(message)) return { text: 'did not find expected <document start>' }
  if (/flow-(?:map|seq)-end token in YAML stream/.test(message) && /(?:^|[:?-])\s*$/.test(before))
    return nodeContent
  if (/^Unexpected (?:scalar token|flow-\S+-end token in YAML stream)/.test(message))
    return { text: 'did not find expected key' }
  const known = byCode[code]
  if (known !== undefined) return known
  if (code === 'TAB_AS_INDENT' || message.includes('tabs')) {
    if (/[|>][-+\d]*\s*$/.test(before))
      return { text: 'found a tab character where an indentation space is expected', scanner: true }
    return afterPlainScalar.test(before)
      ? { text: 'found a tab character that violates indentation', scanner: true }
      : noToken
  }
  if (code === 'BAD_DQ_ESCAPE')
    return {
      text: /\\[xuU]/.test(message)
        ? /\\u[dD][89a-fA-F]/.test(message)
          ? 'found invalid Unicode character escape code'
          : 'did not find expected hexdecimal number'
        : 'found unknown escape character',
      scanner: true,
    }
  if (/Implicit map keys/.test(message))
    return { text: "could not find expected ':'", scanner: true, late: true }
  if (/Block scalar values/.test(message))
    return { text: 'found a tab character where an indentation space is expected', scanner: true }
  if (/Unexpected , in/.test(message)) return nodeContent
  if (/quote/.test(message)) return { text: 'found unexpected end of stream', scanner: true }
  // The text ended where an item was to begin.
  if (/^Flow /.test(message) && /[[{,:]\s*$/.test(before)) return nodeContent
  if (/[Ff]low map|flow-map-end|\}/.test(message))
    return { text: "did not find expected ',' or '}'" }
  if (/[Ff]low seq|[Ff]low collection items|\]/.test(message))
    return { text: "did not find expected ',' or ']'" }
  if (/mapping items/.test(message)) return { text: 'did not find expected key' }
  if (/sequence items|block sequence|- indicator/.test(message))
    return { text: "did not find expected '-' indicator" }
  return nodeContent
}

/** Where Go counts lines from zero, it leaves the first one out, also where it then adds one. */
export const faultInLine = (line: number, text: string): YamlSyntaxError =>
  new YamlSyntaxError(`yaml: ${line === 0 ? '' : `line ${line}: `}${text}`)

/** An error of the scanner, in a line that is counted from one. */
export const scannerFault = (line: number, text: string): YamlSyntaxError =>
  faultInLine(line === 1 ? 0 : line, text)

/** Lines of the scanner count from one, those of the parser from zero, and what would be zero is left out. */
export const yamlFault = (fault: YamlFault): YamlSyntaxError => {
  const { text, scanner, late } = goFault(fault)
  const at = late || (fault.pastEnd && !scanner) ? fault.line + 1 : fault.line
  return scanner ? scannerFault(at, text) : faultInLine(at - 1, text)
}
