/**
 * Files of the API in a volume, as upstream's atomic writer puts them there: into a new `..<time>` folder, then one rename
 * of the `..data` link, so that a reader sees all of the old or all of the new.
 */
import { createHash } from 'node:crypto'
import { readlinkSync } from 'node:fs'
import { chmod, mkdir, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { giveToGroup, giveToUser } from '../volume-ownership.js'

interface VolumeFile {
  readonly content: Buffer
  readonly mode: number
  readonly user?: number | undefined
}
export type Files = Map<string, VolumeFile>

const digestOf = (files: Files): string => {
  const hash = createHash('sha256')
  for (const [name, { content, mode }] of [...files].sort(([a], [b]) => (a < b ? -1 : 1))) {
    hash.update(`${name}\0${mode}\0${content.length}\0`).update(content)
  }
  return hash.digest('hex').slice(0, 16)
}

const linkTarget = (link: string): string => {
  try {
    return readlinkSync(link)
  } catch {
    return ''
  }
}

/** Names as they are below the volume: the API refuses `..`, and a file outside would be worse than none. */
const cleaned = (files: Files): Files =>
  new Map([...files].map(([name, file]) => [path.posix.join('/', name).slice(1), file]))

const writeVersion = async (folder: string, files: Files): Promise<void> => {
  await mkdir(folder, { recursive: true })
  for (const [name, { content, mode, user }] of files) {
    const file = path.join(folder, name)
    await mkdir(path.dirname(file), { recursive: true })
    await writeFile(file, content, { mode })
    // Our umask must not narrow the mode.
    await chmod(file, mode)
    if (user !== undefined) await giveToUser(file, user)
  }
}

/** Writes nothing if the folder has these files already, but goes on where a killed kubelet has left off. */
export const writeAtomically = async (
  folder: string,
  given: Files,
  { now, fsGroup }: { now: number; fsGroup: number | undefined },
): Promise<void> => {
  const files = cleaned(given)
  const data = path.join(folder, '..data')
  const before = linkTarget(data)
  const digest = digestOf(files)
  const isWritten = before.endsWith(`.${digest}`)
  const version = isWritten ? before : `..${now}.${digest}`
  if (!isWritten) {
    try {
      await writeVersion(path.join(folder, version), files)
      await giveToGroup(folder, fsGroup, { readOnly: true })
      // A killed kubelet may have left one between the two calls.
      await rm(`${data}_tmp`, { force: true })
      await symlink(version, `${data}_tmp`)
      await rename(`${data}_tmp`, data)
    } catch (error) {
      // It is tried again and again, each time with a folder of its own.
      await rm(path.join(folder, version), { recursive: true, force: true })
      throw error
    }
  }
  const wanted = new Set([...files.keys()].map((name) => name.split('/')[0]!))
  for (const name of wanted) {
    const link = path.join(folder, name)
    if (linkTarget(link) === '') await symlink(path.join('..data', name), link)
  }
  const kept = new Set([...wanted, '..data', version])
  for (const name of await readdir(folder))
    if (!kept.has(name)) await rm(path.join(folder, name), { recursive: true, force: true })
}
