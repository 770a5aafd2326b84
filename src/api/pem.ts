/** PEM in text that clients sent, read as Go's encoding/pem does. Searched with indexOf: a pattern could be made to backtrack. */

export interface PemBlock {
  readonly label: string
  readonly hasHeaders: boolean
  readonly bytes: Buffer
}

const begin = '-----BEGIN '
const end = '-----END '
const dashes = '-----'
const base64 = /^[A-Za-z0-9+/]*={0,2}$/

/** Where what was looked for at the start of a line ends; -1 when no line starts so. */
const afterLineStart = (text: string, start: string, from: number): number => {
  if (text.startsWith(start, from)) return from + start.length
  const at = text.indexOf(`\n${start}`, from)
  return at < 0 ? -1 : at + 1 + start.length
}

const lineAt = (text: string, from: number): { line: string; next: number } => {
  const at = text.indexOf('\n', from)
  const [to, next] = at < 0 ? [text.length, text.length] : [at, at + 1]
  return { line: text.slice(from, to).trimEnd(), next }
}

/** The block whose label begins at `from`, and where it ends; undefined for what only looks like one. */
const readBlock = (text: string, from: number): { block: PemBlock; next: number } | undefined => {
  let { line, next } = lineAt(text, from)
  if (!line.endsWith(dashes)) return undefined
  const label = line.slice(0, -dashes.length)
  let start = next
  for (;;) {
    ;({ line, next } = lineAt(text, start))
    if (!line.includes(':')) break
    start = next
  }
  const hasHeaders = start !== lineAt(text, from).next
  const isEmpty = !hasHeaders && text.startsWith(end, start)
  const stop = isEmpty ? start : text.indexOf(`\n${end}`, start)
  if (stop < 0) return undefined
  const last = lineAt(text, isEmpty ? stop + end.length : stop + 1 + end.length)
  const body = text.slice(start, stop).replace(/\s/g, '')
  if (last.line !== label + dashes || body.length % 4 !== 0 || !base64.test(body)) return undefined
  return { block: { label, hasHeaders, bytes: Buffer.from(body, 'base64') }, next: last.next }
}

/** What is no block is passed over. */
export const pemBlocks = (text: string): PemBlock[] => {
  const blocks: PemBlock[] = []
  for (let at = afterLineStart(text, begin, 0); at >= 0; ) {
    const read = readBlock(text, at)
    if (read) blocks.push(read.block)
    at = afterLineStart(text, begin, read?.next ?? at)
  }
  return blocks
}
