/**
 * Patterns are written by whoever writes the definition, and matched against what anybody sends: RE2's linear time
 * keeps a bad one from stopping the server (reliability: user regex).
 */
import { RE2JS } from 're2js'

const compiled = new Map<string, RE2JS>()
const compiledMax = 1_000

/** Throws what the parser says; re2js words its errors as Go does. */
export const compilePattern = (pattern: string): RE2JS => {
  let found = compiled.get(pattern)
  if (found === undefined) {
    found = RE2JS.compile(pattern)
    if (compiled.size >= compiledMax) compiled.clear()
    compiled.set(pattern, found)
  }
  return found
}

/** True when the pattern is found anywhere in the text, as Go's MatchString. */
export const matchesPattern = (pattern: string, text: string): boolean =>
  compilePattern(pattern).matcher(text).find()
