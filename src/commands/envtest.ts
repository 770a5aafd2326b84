/** `kubelevel envtest`: where the stand-ins are that controller-runtime's envtest starts. */
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { packageRoot } from '#program/package-root.js'
import type { ExitCode, Machine } from './machine.js'

export const printStandIns = (machine: Machine): ExitCode => {
  machine.stdout(`${path.join(fileURLToPath(packageRoot), 'envtest')}\n`)
  return 0
}
