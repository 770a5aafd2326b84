/** Parses the flags of eviction thresholds, with upstream's texts (ParseThresholdConfig). */

import { parseQuantity, type Quantity, QuantityError, quantityValue } from '#api/quantity.js'
import { durationMs, durationProblem } from '#go/duration.js'
import { UsageError } from '#program/flags.js'
import { type Observation, type Signal, signals } from './signals.js'

type Amount = { readonly quantity: Quantity } | { readonly part: number }

export interface Threshold {
  readonly signal: Signal
  readonly value: Amount
  /** Must be free in addition before the pressure counts as over. */
  readonly minimumReclaim: Amount | undefined
  /** How long it may be crossed; 0 for a hard threshold. */
  readonly graceMs: number
}

/** Texts of the flags: `memory.available<1Gi` for a threshold, `memory.available=1m30s` for what is set for it. */
export interface ThresholdTexts {
  readonly hard?: readonly string[] | undefined
  readonly soft?: readonly string[] | undefined
  readonly softGracePeriods?: readonly string[] | undefined
  readonly minimumReclaims?: readonly string[] | undefined
}

const readPairs = (
  flag: string,
  texts: readonly string[] = [],
  sign: '<' | '=',
): Map<Signal, string> => {
  const pairs = new Map<Signal, string>()
  for (const text of texts.filter((one) => one.trim() !== '')) {
    const at = text.indexOf(sign)
    if (at < 0) throw new UsageError(`--${flag}: malformed pair, expect string${sign}string`)
    const signal = text.slice(0, at).trim()
    if (!Object.hasOwn(signals, signal))
      throw new UsageError(`--${flag}: unsupported eviction signal ${signal}`)
    pairs.set(signal as Signal, text.slice(at + 1).trim())
  }
  return pairs
}

const readQuantity = (flag: string, text: string): Quantity => {
  try {
    return parseQuantity(text)
  } catch (error) {
    if (error instanceof QuantityError) throw new UsageError(`--${flag}: ${error.message}`)
    throw error
  }
}

/** As upstream's float32 has it. */
const readPart = (flag: string, text: string): number => {
  const percent = text.slice(0, -1)
  if (percent === '' || !Number.isFinite(Number(percent)))
    throw new UsageError(`--${flag}: invalid percentage ${text}`)
  return Math.fround(Math.fround(Number(percent)) / 100)
}

/** Undefined for a threshold that can never be crossed, or always is: upstream drops these. */
const readAmount = (flag: string, signal: Signal, text: string): Amount | undefined => {
  if (text === '0%' || text === '100%') return undefined
  if (text.endsWith('%')) {
    const part = readPart(flag, text)
    const [wrong, bound] = part < 0 ? [true, '>= 0%'] : [part > 1, '<= 100%']
    if (wrong)
      throw new UsageError(
        `--${flag}: eviction percentage threshold ${signal} must be ${bound}: ${text}`,
      )
    return { part }
  }
  const quantity = readQuantity(flag, text)
  if (quantity.nano <= 0n)
    throw new UsageError(`--${flag}: eviction threshold ${signal} must be positive: ${text}`)
  return { quantity }
}

const readReclaim = (signal: Signal, text: string): Amount => {
  const flag = 'eviction-minimum-reclaim'
  if (text.endsWith('%')) {
    const part = readPart(flag, text)
    if (part <= 0)
      throw new UsageError(
        `--${flag}: eviction percentage minimum reclaim ${signal} must be positive: ${text}`,
      )
    return { part }
  }
  const quantity = readQuantity(flag, text)
  if (quantity.nano < 0n)
    throw new UsageError(`--${flag}: negative eviction minimum reclaim specified for ${signal}`)
  return { quantity }
}

const readGrace = (text: string): number => {
  if (durationProblem(text) !== undefined || text.startsWith('-'))
    throw new UsageError(
      `--eviction-soft-grace-period: invalid eviction grace period specified: ${text}, must be a positive value`,
    )
  return durationMs(text)
}

/** Throws a UsageError for what cannot be meant. */
export const readThresholds = (texts: ThresholdTexts): Threshold[] => {
  const graces = readPairs('eviction-soft-grace-period', texts.softGracePeriods, '=')
  const reclaims = readPairs('eviction-minimum-reclaim', texts.minimumReclaims, '=')
  const read = (flag: string, pairs: Map<Signal, string>, isSoft: boolean): Threshold[] =>
    [...pairs].flatMap(([signal, text]) => {
      const value = readAmount(flag, signal, text)
      const grace = graces.get(signal)
      if (isSoft && grace === undefined)
        throw new UsageError(
          `--${flag}: grace period must be specified for the soft eviction threshold ${signal}`,
        )
      if (!value) return []
      const reclaim = reclaims.get(signal)
      return [
        {
          signal,
          value,
          minimumReclaim: reclaim === undefined ? undefined : readReclaim(signal, reclaim),
          graceMs: isSoft ? readGrace(grace!) : 0,
        },
      ]
    })
  return [
    ...read('eviction-hard', readPairs('eviction-hard', texts.hard, '<'), false),
    ...read('eviction-soft', readPairs('eviction-soft', texts.soft, '<'), true),
  ]
}

/** The absolute amount, of a percentage too. */
export const amountIn = (amount: Amount, { capacity }: Observation): bigint =>
  'part' in amount
    ? BigInt(Math.trunc(Number(capacity) * amount.part))
    : quantityValue(amount.quantity)
