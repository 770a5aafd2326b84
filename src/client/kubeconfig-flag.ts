/** The kubeconfig of a process: what is wrong with its files is told like any mistake on the command line. */
import { existsSync } from 'node:fs'
import path from 'node:path'
import { type Flag, type Flags, UsageError } from '#program/flags.js'
import { messageOf } from './errors.js'
import { type ClientConfig, loadKubeconfig } from './kubeconfig.js'

export const kubeconfigFlag: Flag = {
  name: 'kubeconfig',
  type: 'string',
  help: 'kubeconfig of the API server (default $KUBECONFIG, then .kubelevel/kubeconfig)',
}

/** $KUBECONFIG is a list; of its files some may be missing (client-go, ClientConfigLoadingRules). */
const filesOf = (list: string): string[] => {
  const files = list.split(path.delimiter).filter((file) => file !== '')
  const there = files.filter((file) => existsSync(file))
  return there.length > 0 ? there : files
}

/** `variable`: $KUBECONFIG; an empty one is none, as for kubectl. Throws a UsageError. */
export const readKubeconfigOf = async (flags: Flags, variable = ''): Promise<ClientConfig> => {
  const given = flags.text('kubeconfig')
  const listed = filesOf(variable)
  const files =
    given !== undefined ? [given] : listed.length > 0 ? listed : ['.kubelevel/kubeconfig']
  const missing = files.find((file) => !existsSync(file))
  if (missing !== undefined) throw new UsageError(`--kubeconfig: there is no file ${missing}`)
  try {
    return await loadKubeconfig(...files)
  } catch (error) {
    throw new UsageError(`--kubeconfig: ${messageOf(error)}`)
  }
}
