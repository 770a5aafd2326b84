/** Removes a folder with all that containers have put into it, if it is there. */
import { execFile, execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { promisify } from 'node:util'

const options = { recursive: true, force: true } as const
/** Whoever enters one folder after the other can nest them deeper than a path can be long. rm(1) does the same. */
const command = (folder: string) => ['rm', ['-rf', '--', folder]] as const

const isTooDeep = (error: unknown): boolean =>
  (error as NodeJS.ErrnoException).code === 'ENAMETOOLONG'

export const removeTree = async (folder: string): Promise<void> => {
  await rm(folder, options).catch(async (error) => {
    if (!isTooDeep(error)) throw error
    await promisify(execFile)(...command(folder))
  })
}

export const removeTreeSync = (folder: string): void => {
  try {
    rmSync(folder, options)
  } catch (error) {
    if (!isTooDeep(error)) throw error
    execFileSync(...command(folder))
  }
}
