/** `kubelevel kubeconfig`: prints the admin kubeconfig of a data dir. */
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { type Flag, type Flags, helpFlag } from '#api/flags.js'
import type { ExitCode, Machine } from './machine.js'

export const kubeconfigFlags: readonly Flag[] = [
  { name: 'data-dir', type: 'string', default: '.kubelevel', help: 'data dir of the server' },
  helpFlag,
]

export const printKubeconfig = (machine: Machine, flags: Flags): ExitCode => {
  const file = path.join(flags.text('data-dir')!, 'kubeconfig')
  if (!existsSync(file)) {
    machine.stderr(
      `kubelevel kubeconfig: ${file} does not exist: start a server with this data dir first\n`,
    )
    return 1
  }
  machine.stdout(readFileSync(file, 'utf8'))
  return 0
}
