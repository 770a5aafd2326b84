/** What `docker login` has left on this node: for the images of all its Pods. */
import { readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import path from 'node:path'
import { type Logins, parseDockerConfig, parseDockercfg } from './registry-credentials.js'

const read = async (file: string, parse: (text: string) => Logins): Promise<Logins | undefined> => {
  try {
    return parse(await readFile(file, 'utf8'))
  } catch {
    return undefined
  }
}

/**
 * The first of the files that is one (upstream's ReadDockerConfigFile). Upstream looks into its working folder, too; ours
 * is often that of somebody's project, whose `config.json` is another.
 */
export const readNodeLogins = async (rootDir: string, home = homedir()): Promise<Logins> => {
  for (const folder of [rootDir, path.join(home, '.docker'), '/.docker']) {
    const logins = await read(path.join(folder, 'config.json'), parseDockerConfig)
    if (logins) return logins
  }
  for (const folder of [rootDir, home, '/']) {
    const logins = await read(path.join(folder, '.dockercfg'), parseDockercfg)
    if (logins) return logins
  }
  return []
}
