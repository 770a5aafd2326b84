/** Where two answers part, and the class that the difference belongs to. */
import { masked, sameAnswer } from './harmless.js'
import type { Answer } from './target.js'

export interface Difference {
  /** Differences of one class have one cause, as far as the answers tell. */
  readonly className: string
  /** The codes, and where the answers part. */
  readonly place: string
  /** What stands at the place on either side. */
  readonly server: string
  readonly against: string
}

interface Parting {
  readonly place: string
  readonly server: string
  readonly against: string
}

const shown = (value: unknown): string => (value === undefined ? 'nothing' : JSON.stringify(value))

const isMap = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The first place, in the order of the server that is compared against. */
const partingOf = (server: unknown, against: unknown, place: string): Parting | undefined => {
  if (Array.isArray(server) && Array.isArray(against)) {
    for (let i = 0; i < Math.max(server.length, against.length); i++) {
      const parting = partingOf(server[i], against[i], `${place}[*]`)
      if (parting) return parting
    }
    return undefined
  }
  if (isMap(server) && isMap(against)) {
    for (const key of new Set([...Object.keys(against), ...Object.keys(server)])) {
      const parting = partingOf(server[key], against[key], `${place}.${key}`)
      if (parting) return parting
    }
    const [ours, theirs] = [Object.keys(server).join(), Object.keys(against).join()]
    return ours === theirs
      ? undefined
      : { place: `${place} in their order`, server: ours, against: theirs }
  }
  if (server === against) return undefined
  return { place, server: shown(server), against: shown(against) }
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(masked(text))
  } catch {
    return undefined
  }
}

const lead = 30
const span = 160

/** Both texts around the first letter that differs. */
export const around = (server: string, against: string): [string, string] => {
  let i = 0
  while (i < server.length && server[i] === against[i]) i++
  const from = Math.max(0, i - lead)
  return [server.slice(from, i + span), against.slice(from, i + span)]
}

/** What a Status says, or which kind came. */
const told = (body: unknown): string => {
  const { kind, message } = (body ?? {}) as { kind?: string; message?: string }
  return shown(message ?? kind)
}

const bodyParting = (server: Answer, against: Answer): Parting => {
  const [ours, theirs] = [parsed(server.text), parsed(against.text)]
  if (server.code !== against.code && (isMap(ours) || isMap(theirs)))
    return { place: 'told', server: told(ours), against: told(theirs) }
  const parting =
    ours !== undefined && theirs !== undefined ? partingOf(ours, theirs, '') : undefined
  return parting ?? { place: 'text', server: masked(server.text), against: masked(against.text) }
}

const classWidth = 30

export const differenceOf = (server: Answer, against: Answer): Difference => {
  const isWarning = sameAnswer({ ...server, warning: '' }, { ...against, warning: '' })
  const parting = isWarning
    ? { place: 'warning', server: server.warning, against: against.warning }
    : bodyParting(server, against)
  const [ours, theirs] = around(parting.server, parting.against)
  const codes = server.code === against.code ? server.code : `${server.code}, not ${against.code}`
  const place = `${codes} ${parting.place}`
  const words = [ours, theirs].map((text) =>
    text.replace(/\b[\da-f]{9,}\b|\d+/g, '0').slice(0, lead + classWidth),
  )
  return {
    className: `${place}: ${words.join(' | ')}`,
    place,
    server: ours,
    against: theirs,
  }
}
