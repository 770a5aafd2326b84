import { existsSync } from 'node:fs'
import path from 'node:path'

/** The files of $KUBECONFIG, which is a list: some of them may be missing (client-go, ClientConfigLoadingRules). */
export const kubeconfigFiles = (list: string): string[] => {
  const files = list.split(path.delimiter).filter((file) => file !== '')
  const there = files.filter((file) => existsSync(file))
  return there.length > 0 ? there : files
}
