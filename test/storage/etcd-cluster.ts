/** Three members of one etcd, and the network between them. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { Test } from 'tap'
import { eventually } from '../eventually.js'
import { freePort } from '../free-port.js'
import { type Etcd, etcdWith } from './etcd-fixture.js'
import { temporaryDirectory } from './level-fixture.js'

type Scope = Pick<Test, 'teardown'>

export interface EtcdCluster {
  readonly members: readonly Etcd[]
  /** All of them, as `--etcd-servers` takes them. */
  readonly servers: string
  /** Which member leads. Asks those that answer; waits until there is one. */
  leader(): Promise<number>
  /** Nothing comes to this member from the others any more, nor the other way; clients still reach it. */
  isolate(member: number): void
  /** Everybody reaches everybody. */
  mend(): void
}

const size = 3

/** What one member hears from the others: etcd names itself at the beginning of each connection. */
interface Line {
  readonly port: number
  readonly sockets: Map<Socket, string>
}

const layLine = async (
  t: Scope,
  target: number,
  mayPass: (from: string) => boolean,
): Promise<Line> => {
  const sockets = new Map<Socket, string>()
  const server = createServer((near) => {
    near.on('error', () => {})
    near.once('data', (first: Buffer) => {
      near.pause()
      const from = /^X-Server-From: (\w+)/im.exec(first.toString('latin1'))?.[1] ?? ''
      if (!mayPass(from)) return void near.destroy()
      const far = connect(target, '127.0.0.1')
      far.write(first)
      for (const [one, other] of [
        [near, far],
        [far, near],
      ] as const) {
        sockets.set(one, from)
        one.pipe(other)
        one.on('error', () => {})
        one.on('close', () => {
          sockets.delete(one)
          other.destroy()
        })
      }
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    for (const socket of sockets.keys()) socket.destroy()
  })
  return { port: (server.address() as AddressInfo).port, sockets }
}

/** etcd's JSON gateway. Yields undefined when the member does not answer. */
// biome-ignore lint/suspicious/noExplicitAny: answers are of every kind
const ask = (url: string, path: string): Promise<any> =>
  fetch(`${url}/v3/${path}`, { method: 'POST', body: '{}', signal: AbortSignal.timeout(2_000) })
    .then((answer) => answer.json())
    .catch(() => undefined)

export const startEtcdCluster = async (
  t: Scope,
  { binary = 'etcd' }: { binary?: string } = {},
): Promise<EtcdCluster> => {
  const ids: string[] = []
  let isolated: number | undefined
  const isCut = (from: string, to: number): boolean =>
    isolated !== undefined && (to === isolated || from === ids[isolated])
  const places: { client: number; peer: number; line: Line; url: string }[] = []
  for (let i = 0; i < size; i++) {
    const [client, peer] = [await freePort(), await freePort()]
    const line = await layLine(t, peer, (from) => !isCut(from, i))
    places.push({ client, peer, line, url: `http://127.0.0.1:${client}` })
  }
  const advertised = places.map(({ line }) => `http://127.0.0.1:${line.port}`)
  const members = places.map(({ url, peer }, i) => {
    const args = ['--name', `m${i}`, '--data-dir', temporaryDirectory(t), '--log-level', 'error']
    args.push('--listen-client-urls', url, '--advertise-client-urls', url, '--unsafe-no-fsync')
    args.push('--listen-peer-urls', `http://127.0.0.1:${peer}`)
    args.push('--initial-advertise-peer-urls', advertised[i]!)
    args.push('--initial-cluster', advertised.map((peers, j) => `m${j}=${peers}`).join())
    return etcdWith(t, { binary, url, args })
  })
  await Promise.all(members.map((member) => member.start()))
  const list = await eventually('the members', () => ask(places[0]!.url, 'cluster/member/list'))
  for (const { ID, name } of list.members) ids[Number(name.slice(1))] = BigInt(ID).toString(16)
  return {
    members,
    servers: places.map(({ url }) => url).join(),
    leader: async () => {
      const newest = await eventually('a leader', async () => {
        const answers = await Promise.all(places.map(({ url }) => ask(url, 'maintenance/status')))
        // A leader that was cut off thinks for a while that it still is: the newest term counts.
        return answers
          .filter((answer) => (answer?.leader ?? '0') !== '0')
          .sort((a, b) => Number(b.raftTerm) - Number(a.raftTerm))[0]
      })
      return ids.indexOf(BigInt(newest.leader).toString(16))
    },
    isolate: (member) => {
      isolated = member
      for (const [to, { line }] of places.entries())
        for (const [socket, from] of line.sockets) if (isCut(from, to)) socket.destroy()
    },
    mend: () => {
      isolated = undefined
    },
  }
}
