/** The table as a picture: two bars a line, each line to a scale of its own. */
import { printRate, type Row } from './report.js'

const width = 860
const nameWidth = 210
const barWidth = 520
const rowHeight = 34
const headHeight = 46
const colours = ['#326ce5', '#9aa5b1'] as const

const quoted = (text: string): string => text.replace(/[<>&"]/g, (c) => `&#${c.charCodeAt(0)};`)

const text = (x: number, y: number, content: string, more = ''): string =>
  `<text x="${x}" y="${y}"${more}>${quoted(content)}</text>`

const barsOf = ({ name, rates }: Row, top: number): string => {
  const largest = Math.max(...rates, Number.MIN_VALUE)
  const bars = rates.map((rate, side) => {
    const y = top + side * 13
    const length = Math.max(1, (rate / largest) * barWidth)
    const bar = `<rect x="${nameWidth}" y="${y}" width="${length.toFixed(1)}" height="11" fill="${colours[side]}"/>`
    return bar + text(nameWidth + length + 6, y + 10, printRate(rate), ' font-size="10"')
  })
  return text(nameWidth - 10, top + 16, name, ' text-anchor="end"') + bars.join('')
}

/** SVG. `names` are those of the two sides. */
export const pictureOf = (rows: readonly Row[], names: readonly [string, string]): string => {
  const height = headHeight + rows.length * rowHeight
  const keys = names.map((name, side) => {
    const x = nameWidth + side * 180
    const box = `<rect x="${x}" y="14" width="11" height="11" fill="${colours[side]}"/>`
    return box + text(x + 17, 24, `${name}, a second`)
  })
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12">`,
    `<rect width="${width}" height="${height}" fill="#ffffff"/>`,
    ...keys,
    ...rows.map((row, i) => barsOf(row, headHeight + i * rowHeight)),
    '</svg>\n',
  ].join('\n')
}
