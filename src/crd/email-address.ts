/** Whether a text is one mail address as Go's net/mail reads it: with a name, with comments, or the one member of a group. */
import { isIPv4, isIPv6 } from 'node:net'

const wide = '\\u{80}-\\u{10ffff}'
const atom = `[!#-'*+\\-/-9=?A-Z^-~${wide}]`
const dotted = `${atom}+(?:\\.${atom}+)*`
const quotedPart = `(?:[ \\t!#-[\\]-~${wide}]|\\\\[ \\t!-~${wide}])`
const mailbox = new RegExp(
  `^[ \\t]*(?:${dotted}|"${quotedPart}+")@[ \\t]*(?:${dotted}|\\[([!-Z^-~${wide}]*)\\])`,
  'u',
)
const word = new RegExp(`^(?:"${quotedPart}*"|(?:${atom}|\\.)+)`, 'u')

const skipSpace = (text: string): string => text.replace(/^[ \t]+/, '')

/** The text behind the comment that `text` begins with; comments may contain comments. */
const behindComment = (text: string): string | undefined => {
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    const char = text[at]
    if (char === '\\') at++
    else if (char === '(') depth++
    else if (char === ')' && --depth === 0) return text.slice(at + 1)
  }
  return undefined
}

const skipComments = (text: string): string | undefined => {
  let rest: string | undefined = skipSpace(text)
  while (rest?.startsWith('(')) {
    rest = behindComment(rest)
    if (rest !== undefined) rest = skipSpace(rest)
  }
  return rest
}

const behindMailbox = (text: string): string | undefined => {
  const match = mailbox.exec(text)
  if (match === null) return undefined
  const [{ length }, literal] = match
  const isHost = literal === undefined || isIPv4(literal) || (isIPv6(literal) && !/%/.test(literal))
  return isHost ? text.slice(length) : undefined
}

const behindName = (text: string): string | undefined => {
  let rest = text
  for (let words = 0; ; words++) {
    const next = words === 0 ? skipSpace(rest) : skipComments(rest)
    if (next === undefined) return undefined
    const match = word.exec(next)
    if (match === null) return words === 0 ? undefined : next
    rest = next.slice(match[0].length)
  }
}

const behindGroup = (text: string): string | undefined => {
  const rest = behindAddress(text, false)
  const end = rest === undefined ? undefined : skipComments(rest)
  return end?.startsWith(';') ? end.slice(1) : undefined
}

const behindAddress = (text: string, mayBeGroup: boolean): string | undefined => {
  const plain = behindMailbox(text)
  if (plain !== undefined) {
    const rest = skipSpace(plain)
    return rest.startsWith('(') ? behindComment(rest) : rest
  }
  const start = skipSpace(text)
  const named = start.startsWith('<') ? start : behindName(start)
  if (named === undefined) return undefined
  if (mayBeGroup && named.startsWith(':')) return behindGroup(named.slice(1))
  const rest = named.startsWith('<') ? behindMailbox(named.slice(1)) : undefined
  return rest?.startsWith('>') ? rest.slice(1) : undefined
}

export const isEmailAddress = (text: string): boolean => {
  const rest = behindAddress(text, true)
  return rest !== undefined && skipComments(rest) === ''
}
