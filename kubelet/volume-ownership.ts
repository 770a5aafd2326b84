/**
 * Owners of volumes of Pods that run as a certain user: files belong to the Pod's fsGroup, tokens to its user. Like
 * upstream's pkg/volume/volume_linux.go it goes on where it lacks the permission.
 */
import type { Stats } from 'node:fs'
import { chmod, lchown, lstat, readdir } from 'node:fs/promises'
import path from 'node:path'

const modes = { write: 0o660, read: 0o440, enter: 0o110, setGroup: 0o2000 } as const
const permissions = 0o7777
const nobodyElse = -1

/** Only root may change owners: a kubelet that is not root runs everything as itself anyway. */
const whereAllowed = async (change: Promise<void>): Promise<void> => {
  try {
    await change
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') throw error
  }
}

const wantedMode = (stats: Stats, readOnly: boolean): number => {
  const forFile = readOnly ? modes.read : modes.write
  return stats.isDirectory() ? forFile | modes.enter | modes.setGroup : forFile
}

export const giveToUser = (file: string, user: number): Promise<void> =>
  whereAllowed(lchown(file, user, nobodyElse))

/** The folder last: its group says that everything below it has been changed. */
export const giveToGroup = async (
  file: string,
  group: number | undefined,
  { readOnly = false }: { readOnly?: boolean } = {},
): Promise<void> => {
  if (group === undefined) return
  const stats = await lstat(file)
  if (stats.isDirectory()) {
    for (const name of await readdir(file))
      await giveToGroup(path.join(file, name), group, { readOnly })
  }
  await whereAllowed(lchown(file, nobodyElse, group))
  // The mode of a link is that of what it leads to.
  if (stats.isSymbolicLink()) return
  await whereAllowed(chmod(file, (stats.mode & permissions) | wantedMode(stats, readOnly)))
}

/** True when a volume has been given to the group whole, or need not be. */
export const isGroups = async (folder: string, group: number | undefined): Promise<boolean> => {
  if (group === undefined) return true
  const stats = await lstat(folder)
  const wanted = wantedMode(stats, false)
  return stats.isDirectory() && stats.gid === group && (stats.mode & wanted) === wanted
}
