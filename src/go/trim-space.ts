/** What Go's strings.TrimSpace takes away: not quite what String.trim does, which knows U+FEFF and not U+0085. */
const spaces = new Set(
  '\t\n\v\f\r \u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000',
)

export const trimSpace = (text: string): string => {
  let [start, end] = [0, text.length]
  while (start < end && spaces.has(text[start]!)) start++
  while (end > start && spaces.has(text[end - 1]!)) end--
  return text.slice(start, end)
}
