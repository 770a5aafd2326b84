/** PEM blocks in text that clients sent. Searched with indexOf: a pattern could be made to backtrack. */

/** What is between the lines of the first block with this label; undefined when there is none. */
export const pemBlock = (text: string, label: string): string | undefined => {
  const begin = `-----BEGIN ${label}-----`
  const start = text.indexOf(begin)
  if (start < 0) return undefined
  const end = text.indexOf(`-----END ${label}-----`, start + begin.length)
  return end < 0 ? undefined : text.slice(start + begin.length, end)
}
