/** Base64 as Go's StdEncoding reads it: it passes over line ends, takes no other spaces and ignores spare bits. */

const shape = /^[A-Za-z0-9+/]*={0,2}$/

const digitsOf = (text: string): string | undefined => {
  const digits = /[\r\n]/.test(text) ? text.replace(/[\r\n]/g, '') : text
  return digits.length % 4 === 0 && shape.test(digits) ? digits : undefined
}

export const decodeBase64 = (text: string): Buffer | undefined => {
  const digits = digitsOf(text)
  return digits === undefined ? undefined : Buffer.from(digits, 'base64')
}

/** As Go writes again what it has read. */
export const canonicalBase64 = (text: string): string | undefined => {
  const digits = digitsOf(text)
  return digits?.endsWith('=') ? Buffer.from(digits, 'base64').toString('base64') : digits
}
