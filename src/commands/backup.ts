/** `kubelevel backup FILE`, `restore FILE`, `verify FILE`: the whole store in one file, and back. */
import { existsSync } from 'node:fs'
import path from 'node:path'
import { backupPath } from '#api/backup-path.js'
import { whyNoAnswer } from '#client/why-no-answer.js'
import { type Flag, type Flags, helpFlag } from '#program/flags.js'
import {
  type BackupSummary,
  backup,
  restore,
  restoredStart,
  saveBackup,
  verifyBackup,
} from '#storage/backup.js'
import { type StorageDriver, StorageError } from '#storage/driver.js'
import { openStorage } from '#storage/open.js'
import type { ExitCode, Machine } from './machine.js'
import { dataDirFlag, ownKubeconfig, printOutcome, withServer } from './running-server.js'

export const backupFlags: readonly Flag[] = [
  dataDirFlag,
  { name: 'storage', type: 'string', help: 'level:DIR or etcd:URL (default level:<data-dir>/db)' },
  {
    name: 'kubeconfig',
    type: 'string',
    help: 'kubeconfig of the running server, if there is one (default <data-dir>/kubeconfig)',
  },
  helpFlag,
]

/** etcd's own tools restore an etcd. */
export const restoreFlags: readonly Flag[] = [
  dataDirFlag,
  { name: 'storage', type: 'string', help: 'level:DIR (default level:<data-dir>/db)' },
  helpFlag,
]

export const verifyFlags: readonly Flag[] = [helpFlag]

const urlOf = (flags: Flags): string =>
  flags.text('storage') ?? `level:${path.join(flags.text('data-dir')!, 'db')}`

/** Storage mistakes are the operator's to read. */
const explainStorage = (error: Error): string => {
  const isOfStorage = error instanceof StorageError
  if (!isOfStorage && (error as NodeJS.ErrnoException).code === undefined) throw error
  return isOfStorage && error.code === 'Locked' ? `${error.message}: stop it first` : error.message
}

const reported = (
  machine: Machine,
  command: string,
  run: () => Promise<string>,
): Promise<ExitCode> => printOutcome(machine, command, run, explainStorage)

const withStore = async <T>(
  machine: Machine,
  url: string,
  options: {
    startRevision?: number
    existing?: boolean
    use: (driver: StorageDriver) => Promise<T>
  },
): Promise<T> => {
  const { use, ...rest } = options
  const driver = await openStorage(url, { clock: { now: machine.now }, ...rest })
  try {
    return await use(driver)
  } finally {
    await driver.close()
  }
}

/** Undefined when the store is named and its server is not: the one of the data dir may be another's. */
const kubeconfigOf = (flags: Flags): string | undefined => {
  const given = flags.text('kubeconfig')
  if (given !== undefined || flags.text('storage') !== undefined) return given
  const own = ownKubeconfig(flags)
  return existsSync(own) ? own : undefined
}

/** Whatever keeps it from being asked, the kubeconfig's mistakes included, is the operator's to read. */
const backupFromServer = (kubeconfig: string, file: string): Promise<BackupSummary> =>
  withServer([kubeconfig], async (transport, { server }) => {
    const answer = await transport.send({ method: 'GET', path: backupPath, longRunning: true })
    if (answer.statusCode !== 200)
      throw new StorageError('Unavailable', `${server} answered ${answer.statusCode}`)
    return await saveBackup(answer, file)
  }).catch((error) => {
    throw error instanceof StorageError
      ? error
      : new StorageError('Unavailable', whyNoAnswer(error))
  })

/** A LevelDB that a server has open, or none: its objects may be in memory or in an etcd. */
const serversOwn: ReadonlySet<string> = new Set(['Locked', 'Unavailable'])

export const backupCommand = (machine: Machine, flags: Flags): Promise<ExitCode> =>
  reported(machine, 'backup', async () => {
    const file = flags.argument
    const { keys, revision, digest } = await withStore(machine, urlOf(flags), {
      existing: true,
      use: (driver) => backup(driver, file),
    }).catch((error) => {
      const kubeconfig = kubeconfigOf(flags)
      const isServers = error instanceof StorageError && serversOwn.has(error.code)
      if (!isServers || kubeconfig === undefined) throw error
      return backupFromServer(kubeconfig, file)
    })
    return `${file}: ${keys} keys at revision ${revision}, sha256 ${digest}`
  })

export const restoreCommand = (machine: Machine, flags: Flags): Promise<ExitCode> =>
  reported(machine, 'restore', async () => {
    const file = flags.argument
    const url = urlOf(flags)
    if (!url.startsWith('level:')) {
      throw new StorageError('Unavailable', 'only level: is restored; etcd has etcdctl snapshot')
    }
    const startRevision = restoredStart(await verifyBackup(file))
    const { keys } = await withStore(machine, url, {
      startRevision,
      use: (driver) => restore(driver, file),
    })
    return `${url}: ${keys} keys, starting at revision ${startRevision}`
  })

export const verifyCommand = (machine: Machine, flags: Flags): Promise<ExitCode> =>
  reported(machine, 'verify', async () => {
    const file = flags.argument
    const { keys, revision, digest } = await verifyBackup(file)
    return `${file}: whole, ${keys} keys at revision ${revision}, sha256 ${digest}`
  })
