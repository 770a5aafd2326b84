/** Files with credentials: only their owner may read them, and they are whole or not there. */
import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { makeFolders } from '#program/make-folders.js'

/** Where credentials are kept, by the name of their file. */
export interface Keeper {
  read(name: string): string | undefined
  write(name: string, text: string): void
}

export const memoryKeeper = (): Keeper => {
  const files = new Map<string, string>()
  return { read: (name) => files.get(name), write: (name, text) => files.set(name, text) }
}

export const directoryKeeper = (directory: string): Keeper => {
  makeFolders(directory, 0o700)
  chmodSync(directory, 0o700)
  return {
    read: (name) => {
      const file = path.join(directory, name)
      return existsSync(file) ? readFileSync(file, 'utf8') : undefined
    },
    write: (name, text) => writePrivateFile(path.join(directory, name), text),
  }
}

/**
 * Replaces a file that only its owner may read, and makes its folder if need be. The text is written beside it, synced
 * and renamed, so that a crash or a power cut leaves the old file or the new one, never an empty one or half of one.
 */
export const writePrivateFile = (file: string, text: string): void => {
  makeFolders(path.dirname(file), 0o700)
  const next = `${file}.${randomBytes(4).toString('hex')}.tmp`
  writeFileSync(next, text, { mode: 0o600, flush: true })
  renameSync(next, file)
  syncFolder(path.dirname(file))
}

const syncFolder = (folder: string): void => {
  const descriptor = openSync(folder, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
