/**
 * The folder of this package. The modules of dist and the bundle made of them lie at different depths below it, and the
 * bundle has a package.json of its own, which says that it is CommonJS.
 */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'

const findRoot = (): URL => {
  let folder = new URL('./', import.meta.url)
  while (!existsSync(new URL('openapi/data/', folder))) {
    const above = new URL('../', folder)
    assert(above.href !== folder.href, 'no openapi/data above this module')
    folder = above
  }
  return folder
}

export const packageRoot: URL = findRoot()
