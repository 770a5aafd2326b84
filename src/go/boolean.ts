import { goQuote } from './quote.js'

/** What strconv.ParseBool reads; undefined for what it does not. */
export const parseGoBoolean = (text: string): boolean | undefined => {
  if (['1', 't', 'T', 'TRUE', 'true', 'True'].includes(text)) return true
  return ['0', 'f', 'F', 'FALSE', 'false', 'False'].includes(text) ? false : undefined
}

/** The error of strconv.ParseBool. */
export const goBooleanProblem = (text: string): string =>
  `strconv.ParseBool: parsing ${goQuote(text)}: invalid syntax`
