/** A server of this checkout, set up as the reference is that CONTRIBUTING.md names. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createServer } from '../create-server.js'
import type { Target } from './target.js'

interface FreshServer extends Target {
  close(): Promise<void>
}

export const startFreshServer = async (token: string): Promise<FreshServer> => {
  const folder = await mkdtemp(path.join(tmpdir(), 'kubelevel-sweep-'))
  const tokenAuthFile = path.join(folder, 'tokens.csv')
  await writeFile(tokenAuthFile, `${token},admin,admin-uid,system:masters\n`, { mode: 0o600 })
  const server = await createServer({
    tokenAuthFile,
    disableAdmissionPlugins: ['ServiceAccount'],
    logLevel: 'silent',
  })
  return {
    url: server.url,
    token,
    close: async () => {
      await server.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
