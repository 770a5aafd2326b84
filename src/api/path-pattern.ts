/** Patterns of paths as authorizers and audit policies have them. */
import { trimRight } from '#go/trim-right.js'

/** `*` is every path, `/logs/*` each that begins so; how many stars end it does not matter. */
export const matchesPath = (pattern: string, path: string): boolean =>
  pattern === '*' ||
  pattern === path ||
  (pattern.endsWith('*') && path.startsWith(trimRight(pattern, '*')))
