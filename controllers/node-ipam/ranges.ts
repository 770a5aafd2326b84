/** Ranges of addresses, and the equal parts that they are cut into. Pure. */
import { isIP } from 'node:net'
import { limits } from '#limits'

export interface Range {
  readonly family: 4 | 6
  readonly first: bigint
  readonly prefixBits: number
}

const widthOf = (family: 4 | 6): number => (family === 4 ? 32 : 128)

const numberOf4 = (ip: string): bigint =>
  ip.split('.').reduce((sum, part) => sum * 256n + BigInt(part), 0n)

const numberOf6 = (ip: string): bigint => {
  // URL writes every form of an address in one: groups without leading zeros, at most one `::`.
  const [head = '', tail] = new URL(`http://[${ip}]`).hostname.slice(1, -1).split('::')
  const groups = (text: string | undefined) => (text ? text.split(':') : [])
  const missing = 8 - groups(head).length - groups(tail).length
  const all = [...groups(head), ...Array<string>(missing).fill('0'), ...groups(tail)]
  return all.reduce((sum, group) => sum * 65_536n + BigInt(`0x${group}`), 0n)
}

/** Throws for what is no range. */
export const parseRange = (text: string): Range => {
  const [ip = '', bits = '', ...rest] = text.split('/')
  const family = isIP(ip)
  const prefixBits = Number(bits)
  const isValid = (family === 4 || family === 6) && rest.length === 0 && /^\d{1,3}$/.test(bits)
  if (!isValid || prefixBits > widthOf(family)) throw new Error(`invalid CIDR address: ${text}`)
  const size = 1n << BigInt(widthOf(family) - prefixBits)
  const number = family === 4 ? numberOf4(ip) : numberOf6(ip)
  return { family, first: (number / size) * size, prefixBits }
}

export const formatRange = ({ family, first, prefixBits }: Range): string => {
  if (family === 4) {
    const parts = [24n, 16n, 8n, 0n].map((shift) => (first >> shift) & 255n)
    return `${parts.join('.')}/${prefixBits}`
  }
  const groups = Array.from({ length: 8 }, (_, i) =>
    ((first >> BigInt(112 - 16 * i)) & 65_535n).toString(16),
  )
  return `${new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1)}/${prefixBits}`
}

const endOf = ({ family, first, prefixBits }: Range): bigint =>
  first + (1n << BigInt(widthOf(family) - prefixBits))

export const overlap = (a: Range, b: Range): boolean =>
  a.family === b.family && a.first < endOf(b) && b.first < endOf(a)

export const contains = (whole: Range, part: Range): boolean =>
  overlap(whole, part) && whole.prefixBits <= part.prefixBits

/** An address as the smallest of ranges. */
export const rangeOfAddress = (ip: string): Range =>
  parseRange(`${ip}/${isIP(ip) === 4 ? widthOf(4) : widthOf(6)}`)

/** Whether Services get it out of the range: nobody gets a network's own address, nor the last one in IPv4. */
export const offers = (range: Range, address: Range): boolean =>
  contains(range, address) &&
  address.first !== range.first &&
  !(range.family === 4 && address.first === endOf(range) - 1n)

/** Hands out the parts of a range one after the other; those given back are taken again when all had their turn. */
export class RangeParts {
  readonly #whole: Range
  readonly #partBits: number
  readonly #count: number
  /** How many hold each part that is held, by its number. */
  readonly #holders = new Map<number, number>()
  #next = 0

  constructor(whole: Range, partBits: number) {
    const cutBits = partBits - whole.prefixBits
    if (cutBits < 0)
      throw new Error(
        `the node mask size ${partBits} is larger than the cluster range ${formatRange(whole)}`,
      )
    if (cutBits > limits.rangeCutBitsMax)
      throw new Error(
        `New CIDR set failed; the node CIDR size is too big: ${formatRange(whole)} in parts of /${partBits}`,
      )
    this.#whole = whole
    this.#partBits = partBits
    this.#count = 2 ** cutBits
  }

  /** Parts that overlap a range are handed out to nobody. */
  hold(range: Range): void {
    for (const at of this.#partsIn(range)) this.#holders.set(at, (this.#holders.get(at) ?? 0) + 1)
  }
  release(range: Range): void {
    for (const at of this.#partsIn(range)) {
      const left = this.#holders.get(at)! - 1
      if (left > 0) this.#holders.set(at, left)
      else this.#holders.delete(at)
    }
  }

  /** The next part that nobody holds; undefined when there is none. */
  next(): Range | undefined {
    for (let tries = 0; tries < this.#count; tries++) {
      const at = (this.#next + tries) % this.#count
      if (this.#holders.has(at)) continue
      this.#next = (at + 1) % this.#count
      const { family, first } = this.#whole
      return { family, first: first + BigInt(at) * this.#partSize, prefixBits: this.#partBits }
    }
    return undefined
  }

  get #partSize(): bigint {
    return 1n << BigInt(widthOf(this.#whole.family) - this.#partBits)
  }

  /** Their numbers. */
  #partsIn(range: Range): number[] {
    if (!overlap(range, this.#whole)) return []
    const numberAt = (address: bigint) => Number((address - this.#whole.first) / this.#partSize)
    const from = Math.max(0, numberAt(range.first))
    const to = Math.min(this.#count - 1, numberAt(endOf(range) - 1n))
    return Array.from({ length: to - from + 1 }, (_, i) => from + i)
  }
}
