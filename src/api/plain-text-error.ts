import { goQuote } from '#go/quote.js'

/** Tells browsers that an error is no page, whatever its text looks like. */
export const noSniff: Readonly<Record<string, string>> = { 'x-content-type-options': 'nosniff' }

/** A refusal that upstream answers in plain text, without a Status. */
export class PlainTextError extends Error {
  readonly code: number
  readonly headers: Readonly<Record<string, string>>
  constructor(code: number, text: string, headers: Readonly<Record<string, string>> = noSniff) {
    super(text)
    this.name = 'PlainTextError'
    this.code = code
    this.headers = headers
  }
}

const inHtml: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' }

/** Messages may contain text of the client, which must not look like HTML. */
export const withoutMarkup = (text: string): string =>
  text.replace(/[&<>]/g, (char) => inHtml[char]!)

/** An internal error of a filter (responsewriters.InternalError). */
export const internalFailure = (url: string, why: string): PlainTextError =>
  new PlainTextError(500, withoutMarkup(`Internal Server Error: ${goQuote(url)}: ${why}\n`))
