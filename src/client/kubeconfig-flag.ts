/** `--kubeconfig`: what is wrong with the file that it names is told like any mistake on the command line. */
import { existsSync } from 'node:fs'
import { UsageError } from '#program/flags.js'
import { messageOf } from './errors.js'
import { type ClientConfig, loadKubeconfig } from './kubeconfig.js'

/** Throws a UsageError. */
export const readKubeconfigOfFlag = async (file: string): Promise<ClientConfig> => {
  if (!existsSync(file)) throw new UsageError(`--kubeconfig: there is no file ${file}`)
  try {
    return await loadKubeconfig(file)
  } catch (error) {
    throw new UsageError(`--kubeconfig: ${messageOf(error)}`)
  }
}
