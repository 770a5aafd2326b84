/**
 * Patterns are written by whoever writes the definition, and matched against what anybody sends: RE2's linear time
 * keeps a bad one from stopping the server (reliability: user regex).
 */
import { createRequire } from 'node:module'
import type { RE2JS } from 're2js'
import { Kept } from '#collections/kept.js'
import { limits } from '#limits'

// Its tables are large, and most servers never see a pattern: it is loaded with the first one.
let engine: typeof RE2JS | undefined
const loadEngine = (): typeof RE2JS => {
  engine ??= (createRequire(import.meta.url)('re2js') as { RE2JS: typeof RE2JS }).RE2JS
  return engine
}

const compiled = new Kept<RE2JS>(limits.patternsKept, limits.patternCharactersKeptMax)

const compile = (pattern: string): RE2JS => loadEngine().compile(pattern)

/** Throws what the parser says; re2js words its errors as Go does. Rules may take a pattern of any size out of an object. */
export const compilePattern = (pattern: string): RE2JS => compiled.of(pattern, compile)

/** True when the pattern is found anywhere in the text, as Go's MatchString. */
export const matchesPattern = (pattern: string, text: string): boolean =>
  compilePattern(pattern).matcher(text).find()
