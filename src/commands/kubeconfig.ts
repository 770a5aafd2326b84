/** `kubelevel kubeconfig`: prints the admin kubeconfig of a data dir. */
import { existsSync, readFileSync } from 'node:fs'
import { type Flag, type Flags, helpFlag } from '#program/flags.js'
import type { ExitCode, Machine } from './machine.js'
import { dataDirFlag, ownKubeconfig } from './running-server.js'

export const kubeconfigFlags: readonly Flag[] = [dataDirFlag, helpFlag]

export const printKubeconfig = (machine: Machine, flags: Flags): ExitCode => {
  const file = ownKubeconfig(flags)
  if (!existsSync(file)) {
    machine.stderr(
      `kubelevel kubeconfig: ${file} does not exist: start a server with this data dir first\n`,
    )
    return 1
  }
  machine.stdout(readFileSync(file, 'utf8'))
  return 0
}
