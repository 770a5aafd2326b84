/** PEM in text that clients sent, read as Go's encoding/pem does. Searched with indexOf: a pattern could be made to backtrack. */
import { X509Certificate } from 'node:crypto'

export interface PemBlock {
  readonly label: string
  readonly hasHeaders: boolean
  readonly bytes: Buffer
  /** Where the text behind it begins. */
  readonly next: number
}

const begin = '-----BEGIN '
const end = '\n-----END '
const dashes = '-----'
const base64 = /^[A-Za-z0-9+/]*={0,2}$/

const lineAt = (text: string, from: number): { line: string; next: number } => {
  const at = text.indexOf('\n', from)
  const [to, next] = at < 0 ? [text.length, text.length] : [at, at + 1]
  return { line: text.slice(from, to).trimEnd(), next }
}

/** The block whose label begins at `from` and whose end begins at `stop`; undefined for what only looks like one. */
const readBlock = (text: string, from: number, stop: number): PemBlock | undefined => {
  const first = lineAt(text, from)
  if (!first.line.endsWith(dashes)) return undefined
  const label = first.line.slice(0, -dashes.length)
  let start = first.next
  for (let at = lineAt(text, start); at.line.includes(':') && start <= stop; ) {
    start = at.next
    at = lineAt(text, start)
  }
  const hasHeaders = start !== first.next
  if (hasHeaders && start > stop) return undefined
  const body = text.slice(start, stop).replace(/\s/g, '')
  const { line: last, next } = lineAt(text, stop + end.length)
  if (last !== label + dashes || body.length % 4 !== 0 || !base64.test(body)) return undefined
  return { label, hasHeaders, bytes: Buffer.from(body, 'base64'), next }
}

/** Text that is not a block is skipped. An end belongs to the last beginning before it, so no text is searched twice. */
export const pemBlocks = (text: string): PemBlock[] => {
  const blocks: PemBlock[] = []
  let from = 0
  for (;;) {
    const stop = text.indexOf(end, from)
    if (stop < 0) return blocks
    const before = text.slice(from, stop)
    const at = before.lastIndexOf(begin)
    const startsLine = at === 0 || before[at - 1] === '\n'
    const block = startsLine ? readBlock(text, from + at + begin.length, stop) : undefined
    if (block) blocks.push(block)
    from = block?.next ?? stop + end.length
  }
}

/** Those that hold certificates (client-go, cert.ParseCertsPEM). */
export const certificateBlocks = (text: string): PemBlock[] =>
  pemBlocks(text).filter(({ label, hasHeaders }) => label === 'CERTIFICATE' && !hasHeaders)

/** Throws for a block that holds none. */
export const certificatesOf = (text: string): X509Certificate[] =>
  certificateBlocks(text).map(({ bytes }) => new X509Certificate(bytes))
