/** Warnings of an answer (apiserver, endpoints/filters/warning.go). */
import type { FastifyReply } from 'fastify'
import { limits } from '#limits'

const lengthOf = (text: string): number => [...text].length
const cut = (text: string): string => [...text].slice(0, limits.longWarningRunesMax).join('')

/** Header values are bytes: text beyond Latin-1 goes out as UTF-8, as upstream's does. */
const headerOf = (text: string): string =>
  Buffer.from(`299 - "${text.replace(/[\\"]/g, '\\$&')}"`).toString('latin1')

/**
 * `Warning: 299 - "text"`, each text once. When they become too many, long ones are cut, also those that were told already;
 * then there may be more, until there are too many again.
 */
export const warner = (reply: Pick<FastifyReply, 'header' | 'getHeader'>) => {
  // Most answers have none.
  let before: readonly string[] | undefined
  const texts = new Set<string>()
  let told: string[] = []
  let runes = 0
  let isCutting = false
  const tell = (text: string): void => {
    runes += lengthOf(text)
    told.push(headerOf(text))
  }
  return (text: string): void => {
    const isFull = isCutting && runes >= limits.warningsRunesMax
    if (text === '' || texts.has(text) || isFull) return
    // Upstream drops texts with control characters.
    if (/\p{Cc}/u.test(text)) return
    before ??= [reply.getHeader('warning') ?? []].flat().map(String)
    texts.add(text)
    if (isCutting) tell(cut(text))
    else if (runes + lengthOf(text) <= limits.warningsRunesMax) tell(text)
    else {
      isCutting = true
      runes = 0
      told = []
      for (const earlier of texts) tell(cut(earlier))
    }
    const all = [...before, ...told]
    reply.header('warning', all.length === 1 ? all[0] : all)
  }
}
