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
