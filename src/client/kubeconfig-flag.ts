/** The kubeconfig of a process: what is wrong with its files is told like any mistake on the command line. */
import { existsSync } from 'node:fs'
import { type Flag, type Flags, UsageError } from '#program/flags.js'
import { messageOf } from './errors.js'
import { type ClientConfig, loadKubeconfig } from './kubeconfig.js'
import { kubeconfigFiles } from './kubeconfig-files.js'

export const kubeconfigFlag: Flag = {
  name: 'kubeconfig',
  type: 'string',
  help: 'kubeconfig of the API server (default $KUBECONFIG, then .kubelevel/kubeconfig)',
}

/** `variable`: $KUBECONFIG. Throws a UsageError. */
export const readKubeconfigOf = async (flags: Flags, variable = ''): Promise<ClientConfig> => {
  const files = kubeconfigFiles(flags.text('kubeconfig'), variable, '.kubelevel/kubeconfig')
  const missing = files.find((file) => !existsSync(file))
  if (missing !== undefined) throw new UsageError(`--kubeconfig: there is no file ${missing}`)
  try {
    return await loadKubeconfig(...files)
  } catch (error) {
    throw new UsageError(`--kubeconfig: ${messageOf(error)}`)
  }
}
