import { mkdirSync, statSync } from 'node:fs'
import path from 'node:path'

/**
 * Makes a folder and those above it that are missing, one by one: where a folder that is there has no room for others and the
 * system calls that ENOENT, as in /proc, `recursive` of Node 20 tries for ever. Throws what the system says.
 */
export const makeFolders = (folder: string, mode = 0o777): void => {
  const isThere = () => statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true
  const above = path.dirname(folder)
  if (above === folder || isThere()) return
  makeFolders(above, mode)
  try {
    mkdirSync(folder, { mode })
  } catch (error) {
    // Somebody else may have been first.
    if (!isThere()) throw error
  }
}
