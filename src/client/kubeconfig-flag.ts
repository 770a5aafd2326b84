/** The kubeconfig of a process: what is wrong with its files is told like any mistake on the command line. */
import { existsSync } from 'node:fs'
import { keyPairProblem } from '#net/key-pair.js'
import { type Flag, type Flags, UsageError } from '#program/flags.js'
import { messageOf } from './errors.js'
import { type ClientConfig, loadKubeconfig } from './kubeconfig.js'
import { kubeconfigFiles } from './kubeconfig-files.js'

export const kubeconfigFlag: Flag = {
  name: 'kubeconfig',
  type: 'string',
  help: 'kubeconfig of the API server (default $KUBECONFIG, then .kubelevel/kubeconfig)',
}

/** What keeps a client from being made of it; of certificates in Go's words. */
const problemOf = ({ server, cert = '', key = '' }: ClientConfig): string | undefined => {
  if (!/^https?:\/\//.test(server) || !URL.canParse(server))
    return `the server ${JSON.stringify(server)} is no URL such as https://127.0.0.1:6443`
  return cert === '' && key === '' ? undefined : keyPairProblem(cert, key)
}

/** `variable`: $KUBECONFIG. Throws a UsageError. */
export const readKubeconfigOf = async (flags: Flags, variable = ''): Promise<ClientConfig> => {
  const files = kubeconfigFiles(flags.text('kubeconfig'), variable, '.kubelevel/kubeconfig')
  const missing = files.find((file) => !existsSync(file))
  if (missing !== undefined) throw new UsageError(`--kubeconfig: there is no file ${missing}`)
  let config: ClientConfig
  try {
    config = await loadKubeconfig(...files)
  } catch (error) {
    // A reader of YAML shows the place, too.
    throw new UsageError(`--kubeconfig: ${messageOf(error).split('\n', 1)[0]}`)
  }
  const problem = problemOf(config)
  if (problem !== undefined) throw new UsageError(`--kubeconfig: ${problem}`)
  return config
}
