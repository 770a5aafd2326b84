/** A real etcd in a process of its own, on a folder of its own. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import type { Test } from 'tap'
import { eventually } from '../eventually.js'
import { freePort } from '../free-port.js'
import { temporaryDirectory } from './level-fixture.js'

export const hasEtcd = spawnSync('etcd', ['--version']).status === 0

export interface Etcd {
  readonly url: string
  /** Throws when it ends before it is healthy. */
  start(): Promise<void>
  /** Ends it at once and waits until it is gone. */
  kill(): Promise<void>
  signal(signal: NodeJS.Signals): void
}

interface EtcdOptions {
  /** Default: the one in PATH. */
  readonly binary?: string
  readonly flags?: readonly string[]
  /** Clients come over TLS and need a certificate: PEM files. */
  readonly tls?: { readonly cert: string; readonly key: string; readonly ca: string }
}

/** True when it says that it is healthy. With TLS only that it listens, since it knows no client without certificate. */
const isHealthy = async (url: string): Promise<boolean> => {
  if (url.startsWith('http:')) {
    const answer = await fetch(`${url}/health`).catch(() => undefined)
    return answer?.ok ?? false
  }
  const error = await fetch(`${url}/health`).catch((error) => error.cause)
  return error?.code !== 'ECONNREFUSED'
}

/** An etcd that is not started yet; it ends with `t`. */
export const etcdWith = (
  t: Pick<Test, 'teardown'>,
  { binary, url, args }: { binary: string; url: string; args: readonly string[] },
): Etcd => {
  let child: ChildProcess | undefined
  const endNow = () => void child?.kill('SIGKILL')
  process.once('exit', endNow)
  const etcd: Etcd = {
    url,
    start: async () => {
      const starting = spawn(binary, args, { stdio: ['ignore', 'ignore', 'pipe'] })
      child = starting
      let text = ''
      starting.stderr.on('data', (chunk) => {
        text = (text + chunk).slice(-2_000)
      })
      await eventually('etcd to be healthy', async () => {
        if (starting.exitCode !== null)
          throw new Error(`etcd did not start (${starting.exitCode}): ${text}`)
        return isHealthy(url)
      })
    },
    kill: async () => {
      const ending = child
      child = undefined
      if (ending === undefined || ending.exitCode !== null || ending.signalCode !== null) return
      ending.kill('SIGKILL')
      await once(ending, 'exit')
    },
    signal: (signal) => void child?.kill(signal),
  }
  t.teardown(async () => {
    process.off('exit', endNow)
    await etcd.kill()
  })
  return etcd
}

export const startEtcd = async (
  t: Pick<Test, 'teardown'>,
  { binary = 'etcd', flags = [], tls }: EtcdOptions = {},
): Promise<Etcd> => {
  const directory = temporaryDirectory(t)
  const [client, peer] = [await freePort(), await freePort()]
  const url = `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${client}`
  const peers = `http://127.0.0.1:${peer}`
  const args = ['--data-dir', directory, '--listen-client-urls', url, '--log-level', 'error']
  args.push('--advertise-client-urls', url, '--listen-peer-urls', peers, '--unsafe-no-fsync')
  args.push('--initial-advertise-peer-urls', peers, '--initial-cluster', `default=${peers}`)
  if (tls !== undefined)
    args.push('--cert-file', tls.cert, '--key-file', tls.key, '--trusted-ca-file', tls.ca)
  if (tls !== undefined) args.push('--client-cert-auth')
  const etcd = etcdWith(t, { binary, url, args: [...args, ...flags] })
  await etcd.start()
  return etcd
}

/** What an operator asks of it with etcdctl, by its JSON gateway. */
// biome-ignore lint/suspicious/noExplicitAny: answers are of every kind
export const operate = async (etcd: Etcd, path: string, body: object): Promise<any> => {
  const answer = await fetch(`${etcd.url}/v3/${path}`, {
    method: 'POST',
    body: JSON.stringify(body),
  })
  return answer.json()
}

/** What an operator does with a full one: history is dropped, then the alarm. */
export const makeRoom = async (etcd: Etcd): Promise<void> => {
  const { header } = await operate(etcd, 'kv/range', { key: 'AA==' })
  await operate(etcd, 'kv/compaction', { revision: header.revision, physical: true })
  await operate(etcd, 'maintenance/defragment', {})
  const { alarms } = await operate(etcd, 'maintenance/alarm', {})
  for (const { memberID, alarm } of alarms)
    await operate(etcd, 'maintenance/alarm', { action: 'DEACTIVATE', memberID, alarm })
}
