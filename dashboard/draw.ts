/** A history as a picture: a bar a lane over one axis of time, which begins shortly before the delete was asked for. Pure. */
import { visible } from '#src/timeline/visible.js'
import type { Tone } from './lanes.js'
import type { PodHistory, Span } from './pod-history.js'

const width = 960
const labelWidth = 190
/** Room for the last label. */
const rightWidth = 44
const top = 56
const laneHeight = 30
const barHeight = 20
const letterWidth = 6.9

const colours: Readonly<Record<Tone, string>> = {
  waits: '#e9c46a',
  runs: '#5aa469',
  ends: '#e76f51',
  ended: '#b8bec7',
  failed: '#9d2a3b',
}
/** Tones that are so dark that their text is white. */
const dark: ReadonlySet<Tone> = new Set(['failed'])

/** The time before the delete: this part of what follows, and at least so much. */
const leadPart = 0.12
const leadMsMin = 1_000
const spanMsMin = 2_000
/** What is shown of a Pod that nobody has deleted: its last minute. */
const aliveMs = 60_000

const escapeXml = (text: string): string =>
  visible(text).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)

interface Frame {
  readonly from: number
  readonly to: number
  /** The moment that is +0 s. */
  readonly origin: number
  x(at: number): number
}

const frameOf = (history: PodHistory, now: number): Frame => {
  const { askedAt, createdAt, goneAt, graceOverAt } = history
  const end = goneAt ?? now
  let from = Math.max(createdAt, end - aliveMs)
  let to = Math.max(end, from + spanMsMin)
  if (askedAt !== undefined) {
    // The end of the grace is shown as long as it may still come.
    const over = goneAt === undefined ? (graceOverAt ?? end) : end
    to = Math.max(end, over, askedAt + spanMsMin)
    from = askedAt - Math.max(leadMsMin, (to - askedAt) * leadPart)
  }
  const scale = (width - labelWidth - rightWidth) / (to - from)
  return {
    from,
    to,
    origin: askedAt ?? createdAt,
    x: (at) => labelWidth + (Math.min(Math.max(at, from), to) - from) * scale,
  }
}

const tickStepsMs = [
  100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000, 300_000, 600_000, 1_800_000,
  3_600_000, 21_600_000, 86_400_000,
]
const ticksWanted = 9

const offsetText = (ms: number): string => `${ms < 0 ? '−' : '+'}${String(Math.abs(ms) / 1000)} s`

const n = (value: number): string => String(Math.round(value * 10) / 10)

const drawAxis = ({ from, to, origin, x }: Frame, bottom: number): string => {
  const step =
    tickStepsMs.find((ms) => (to - from) / ms <= ticksWanted) ?? (to - from) / ticksWanted
  const ticks: string[] = []
  for (let at = origin + Math.ceil((from - origin) / step) * step; at <= to; at += step)
    ticks.push(
      `<line x1="${n(x(at))}" x2="${n(x(at))}" y1="${top - 6}" y2="${bottom}" stroke="#e3e6ea"/>` +
        `<text x="${n(x(at))}" y="${top - 12}" text-anchor="middle" fill="#6b7280">${offsetText(Math.round(at - origin))}</text>`,
    )
  return ticks.join('')
}

/** A moment with its name on the side where there is room for it. */
const drawMark = (
  frame: Frame,
  bottom: number,
  { at, text, side }: { at: number | undefined; text: string; side: 'start' | 'end' },
): string => {
  if (at === undefined || at < frame.from || at > frame.to) return ''
  const x = frame.x(at)
  return (
    `<line x1="${n(x)}" x2="${n(x)}" y1="${top - 34}" y2="${bottom}" stroke="#374151" stroke-dasharray="3 3"/>` +
    `<text x="${n(side === 'end' ? x - 4 : x + 4)}" y="${top - 30}" text-anchor="${side}" fill="#374151">${text}</text>`
  )
}

const drawBar = (frame: Frame, y: number, span: Span, until: number): string => {
  const { state, from } = span
  if (state === undefined || until < frame.from || from > frame.to) return ''
  const left = frame.x(from)
  const wide = Math.max(frame.x(until) - left, 1)
  const letters = Math.floor((wide - 8) / letterWidth)
  const text = state.text.length <= letters ? state.text : `${state.text.slice(0, letters - 1)}…`
  const label =
    letters < 4
      ? ''
      : `<text x="${n(left + 5)}" y="${y + 14}" fill="${dark.has(state.tone) ? '#fff' : '#1f2937'}">${escapeXml(text)}</text>`
  return (
    `<g><title>${escapeXml(`${state.text}: ${offsetText(Math.round(from - frame.origin))} to ${offsetText(Math.round(until - frame.origin))}`)}</title>` +
    `<rect x="${n(left)}" y="${y}" width="${n(wide)}" height="${barHeight}" rx="3" fill="${colours[state.tone]}"/>${label}</g>`
  )
}

const drawLane = (y: number, name: string, bars: string): string =>
  `<text x="8" y="${y + 14}" fill="#374151">${escapeXml(name.length > 28 ? `${name.slice(0, 27)}…` : name)}</text>${bars}`

const drawEvents = (frame: Frame, y: number, { marks }: PodHistory): string =>
  marks
    .filter(({ at }) => at >= frame.from && at <= frame.to)
    .map(
      ({ at, what }) =>
        `<circle cx="${n(frame.x(at))}" cy="${y + barHeight / 2}" r="5" fill="#3b82f6"><title>${escapeXml(what)}</title></circle>`,
    )
    .join('')

/** SVG that needs nothing else. `now` is where what goes on ends. */
export const drawHistory = (history: PodHistory, now: number): string => {
  const frame = frameOf(history, now)
  const { askedAt, goneAt, graceOverAt, lanes, pod } = history
  const bottom = top + (lanes.size + 1) * laneHeight
  const rows = [...lanes].map(([name, spans], row) => {
    const y = top + row * laneHeight
    const bars = spans.map((span, i) =>
      drawBar(frame, y, span, spans[i + 1]?.from ?? goneAt ?? now),
    )
    return drawLane(y, name, bars.join(''))
  })
  const y = top + lanes.size * laneHeight
  const { namespace, name } = pod.metadata
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${bottom + 6}" font-family="system-ui, sans-serif" font-size="12">`,
    `<title>${escapeXml(`${namespace}/${name}`)}</title>`,
    `<rect width="${width}" height="${bottom + 6}" fill="#fff"/>`,
    drawAxis(frame, bottom),
    ...rows,
    drawLane(y, 'events', drawEvents(frame, y, history)),
    drawMark(frame, bottom, { at: askedAt, text: 'delete asked for', side: 'start' }),
    drawMark(frame, bottom, { at: graceOverAt, text: 'grace over', side: 'end' }),
    drawMark(frame, bottom, { at: goneAt, text: 'gone', side: 'start' }),
    '</svg>',
  ].join('')
}
