/** hostPath volumes: folders, files and devices of the host; upstream: pkg/volume/hostpath. */
import { closeSync, openSync, type Stats, statSync } from 'node:fs'
import { makeFolders } from '#program/make-folders.js'

interface HostPath {
  path: string
  type?: string
}

const createdFileMode = 0o644

type Check = readonly [what: string, is: (stats: Stats) => boolean]
const directory: Check = ['a directory', (stats) => stats.isDirectory()]
const file: Check = ['a file', (stats) => stats.isFile()]
const checks: Readonly<Record<string, Check>> = {
  Directory: directory,
  DirectoryOrCreate: directory,
  File: file,
  FileOrCreate: file,
  Socket: ['a socket file', (stats) => stats.isSocket()],
  CharDevice: ['a character device', (stats) => stats.isCharacterDevice()],
  BlockDevice: ['a block device', (stats) => stats.isBlockDevice()],
}

const create = (path: string, type: string): void => {
  if (type === 'DirectoryOrCreate') makeFolders(path)
  if (type === 'FileOrCreate') closeSync(openSync(path, 'a', createdFileMode))
}

/** Throws if the path is not of the wanted type. */
export const prepareHostPath = ({ path, type = '' }: HostPath): void => {
  const found = () => statSync(path, { throwIfNoEntry: false })
  if (found() === undefined) create(path, type)
  const check = checks[type]
  if (check === undefined) return
  const [what, is] = check
  const stats = found()
  if (!stats || !is(stats)) throw new Error(`hostPath type check failed: ${path} is not ${what}`)
}
