import { existsSync } from 'node:fs'
import path from 'node:path'

/** $KUBECONFIG is a list: some of its files may be missing (client-go, ClientConfigLoadingRules). */
const filesOfList = (list: string): string[] => {
  const files = list.split(path.delimiter).filter((file) => file !== '')
  const there = files.filter((file) => existsSync(file))
  return there.length > 0 ? there : files
}

/** The one that was given, else those of $KUBECONFIG, else `fallback`. An empty variable is none, as for kubectl. */
export const kubeconfigFiles = (
  given: string | undefined,
  variable: string,
  fallback: string,
): string[] => {
  if (given !== undefined) return [given]
  const listed = filesOfList(variable)
  return listed.length > 0 ? listed : [fallback]
}
