import { mkdirSync, statSync } from 'node:fs'
import path from 'node:path'

/**
 * Makes a folder and its missing parents, one by one. (Node 20's `recursive` loops for ever where the system answers
 * ENOENT in a folder that exists, as in /proc.) Throws the system's error.
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
