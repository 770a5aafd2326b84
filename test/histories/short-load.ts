/** A short load on servers of this process, and what its history tells. */
import type { Server } from '#src/index.js'
import { eventually } from '../eventually.js'
import { call } from '../server/start-server.js'
import { type Endpoint, Load } from './load.js'
import { problemsOf } from './verdict.js'

interface ShortLoad {
  readonly server: Server
  readonly endpoints: readonly Endpoint[]
  readonly namespace: string
  /** One that every endpoint knows; default the admin's of the server. */
  readonly token?: string
}

/** `patienceMs`: for watches to see all of it. */
export const playShortLoad = async (
  { server, endpoints, namespace, token = server.adminToken }: ShortLoad,
  patienceMs?: number,
): Promise<{ load: Load; problems: string[] }> => {
  const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } }
  await call(server, { method: 'POST', path: '/api/v1/namespaces', body })
  const load = new Load({ endpoints, token, namespace, random: Math.random })
  await load.start()
  await eventually('100 acknowledged writes', () => load.acknowledged >= 100)
  await load.finish(patienceMs)
  return { load, problems: problemsOf(load) }
}

/** Problems of the first of a few rounds that has any: a bug that comes by chance gets more than one. */
export const convict = async (loadOf: (round: number) => ShortLoad): Promise<string[]> => {
  let problems: string[] = []
  for (let round = 0; round < 10 && problems.length === 0; round++) {
    // A slow machine may be late too: that alone convicts nobody.
    const all = (await playShortLoad(loadOf(round), 2_000)).problems
    problems = all.filter((problem) => !/did not reach/.test(problem))
  }
  return problems
}
