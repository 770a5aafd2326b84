/** A percent sign that begins no escape. */
export const badEscape = /%(?![0-9A-Fa-f]{2})/

/**
 * What a percent-encoded text says (net/url, PathUnescape); undefined if an escape is malformed. Go keeps bytes that are not
 * UTF-8; here they become U+FFFD, as in Go's JSON.
 */
export const pathUnescape = (text: string): string | undefined => {
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch {
    if (badEscape.test(text)) return undefined
    const bytes = text.replace(/%(..)/g, (_all, hex) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    )
    return Buffer.from(bytes, 'latin1').toString('utf8')
  }
}
