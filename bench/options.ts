/** The command line of `npm run bench`. */
import { parseArgs } from 'node:util'

export const help = `npm run bench -- [options]

Measures two servers by turns in one run. Without --server a server of ours is started on an empty folder, and without
--against a bare node:https server that answers the same bytes and does nothing else; lines named "JSON floor" are
against one that also parses what it is sent and writes it again, as each server of objects must, and lines named
"LevelDB floor" against one that then stores it, synced, before it answers. Servers that run already are left without
the namespace that they were measured in.

  --server URL          the server that is measured, instead of one of ours
  --token TOKEN         its bearer token (admintoken)
  --pid PID             its process, for processor time and memory
  --against URL         what it is measured against; with --against-token TOKEN and --against-pid PID
  --objects N[,N...]    Pods of 2.4 KB that are there from the start (2000); several: a run for each, and how
                        the cost of each request grows from the first to the last
  --client raw|node     what sends the requests (raw): a client that costs as little as can be, so that the server is what
                        is measured, or node's own (https.Agent). Watchers are raw ones
  --connections N       connections, each with one request at a time (16)
  --seconds S           length of one round (0.5)
  --rounds N            rounds of each side of each line, by turns (6)
  --warm-up S           how long each line is warmed up before, which does not count (3): as long as V8 compiles what
                        a write goes through, which may be half of what a write takes
  --watchers N          watchers of the line for deliveries (100)
  --idle-watches N      watches that nothing happens to, for the memory that they take (1000)
  --idle-over PROTOCOL  http/1.1, with a connection for each of them, or http/2, where they share them as client-go's do
  --only REGEXP         the lines to measure; figures of starts and memory are lines as well
  --storage URL         storage of our server instead of LevelDB (memory:, etcd:http://...)
  --svg FILE            a picture of the table
  --profile DIR         a processor profile of our server
  --help
`

interface Side {
  readonly url: string
  readonly token: string
  readonly pid: number | undefined
}

type ClientName = 'raw' | 'node'

export interface BenchOptions {
  readonly server: Side | undefined
  readonly against: Side | undefined
  readonly objects: readonly number[]
  readonly client: ClientName
  readonly connections: number
  readonly roundMs: number
  readonly rounds: number
  readonly warmUpMs: number
  readonly watchers: number
  readonly idleWatches: number
  readonly idleOver: 'http/1.1' | 'http/2'
  readonly only: RegExp
  readonly storage: string | undefined
  readonly svg: string | undefined
  readonly profile: string | undefined
}

/** Undefined when only help was asked for. Throws for options that make no sense. */
export const readOptions = (args: readonly string[]): BenchOptions | undefined => {
  const text = (value?: string) => ({ type: 'string', default: value }) as const
  const { values } = parseArgs({
    args: [...args],
    options: {
      server: { type: 'string' },
      token: text('admintoken'),
      pid: { type: 'string' },
      against: { type: 'string' },
      'against-token': { type: 'string' },
      'against-pid': { type: 'string' },
      objects: text('2000'),
      client: text('raw'),
      connections: text('16'),
      seconds: text('0.5'),
      rounds: text('6'),
      'warm-up': text('3'),
      watchers: text('100'),
      'idle-watches': text('1000'),
      'idle-over': text('http/1.1'),
      only: text(''),
      storage: { type: 'string' },
      svg: { type: 'string' },
      profile: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) return undefined
  const { server, against, token, client } = values
  if (client !== 'raw' && client !== 'node') throw new Error('--client is raw or node')
  const idleOver = values['idle-over']
  if (idleOver !== 'http/1.1' && idleOver !== 'http/2')
    throw new Error('--idle-over is http/1.1 or http/2')
  if (server !== undefined && against === undefined) throw new Error('--server needs --against')
  const sideOf = (url: string | undefined, token: string, pid: string | undefined) =>
    url === undefined ? undefined : { url, token, pid: pid === undefined ? undefined : Number(pid) }
  return {
    server: sideOf(server, token!, values.pid),
    against: sideOf(against, values['against-token'] ?? token!, values['against-pid']),
    objects: values.objects!.split(',').map(Number),
    client,
    connections: Number(values.connections),
    roundMs: Number(values.seconds) * 1000,
    rounds: Number(values.rounds),
    warmUpMs: Number(values['warm-up']) * 1000,
    watchers: Number(values.watchers),
    idleWatches: Number(values['idle-watches']),
    idleOver,
    only: new RegExp(values.only!),
    storage: values.storage,
    svg: values.svg,
    profile: values.profile,
  }
}
