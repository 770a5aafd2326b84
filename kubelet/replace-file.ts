import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'

const next = (file: string): string => `${file}.new`

/**
 * Replaces a file that only its owner may read, and makes its folder if need be. A kubelet that is killed here leaves the
 * old file or the new one, never half of one.
 */
export const replaceFile = async (file: string, text: string): Promise<void> => {
  await mkdir(path.dirname(file), { recursive: true, mode: 0o750 })
  await writeFile(next(file), text, { mode: 0o600 })
  await rename(next(file), file)
}

/** Removes it with what a killed kubelet left of a newer one. */
export const removeReplaced = async (file: string): Promise<void> => {
  for (const one of [file, next(file)]) await rm(one, { force: true })
}
