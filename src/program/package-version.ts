/** The version of this package, from its package.json beside dist. */
import { readFileSync } from 'node:fs'
import { packageRoot } from './package-root.js'

export const packageVersion = (): string => {
  const text = readFileSync(new URL('package.json', packageRoot), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}
