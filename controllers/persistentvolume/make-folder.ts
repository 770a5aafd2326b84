/** The folders behind the volumes that the binder makes, on its own machine: `kubelevel up` has the node there, too. */
import { chmodSync } from 'node:fs'
import path from 'node:path'
import { makeFolders } from '#program/make-folders.js'

/** Passed through, not listed: names of volumes are not to be guessed. */
const rootMode = 0o711
/** Containers run as any user, and own groups are not given to folders of the host (upstream: hostPath and fsGroup). */
const folderMode = 0o777

export const makeFolder = (folder: string): void => {
  makeFolders(path.dirname(folder), rootMode)
  makeFolders(folder)
  chmodSync(folder, folderMode)
}
