/** Texts that containers and controllers wrote, for a line of a terminal or of XML. Pure. */

const pictureOf = (code: number): string => {
  if (code < 0x20) return String.fromCharCode(0x2400 + code)
  return code === 0x7f ? '\u2421' : '\ufffd'
}

/**
 * Control characters as their pictures: a probe that prints colours would change those of the terminal, one that prints
 * several lines would look like several steps, and XML has no such characters at all.
 */
export const visible = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  text.replace(/[\u0000-\u001f\u007f-\u009f\ufffe\uffff]/g, (one) => pictureOf(one.charCodeAt(0)))
