/** A real etcd in a process of its own, on a folder of its own. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import type { Test } from 'tap'
import { temporaryDirectory } from './level-fixture.js'

export const hasEtcd = spawnSync('etcd', ['--version']).status === 0

const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

export interface Etcd {
  readonly url: string
  start(): Promise<void>
  /** Ends it at once and waits until it is gone. */
  kill(): Promise<void>
  signal(signal: NodeJS.Signals): void
}

export const startEtcd = async (t: Test): Promise<Etcd> => {
  const directory = temporaryDirectory(t)
  const [client, peer] = [await freePort(), await freePort()]
  const url = `http://127.0.0.1:${client}`
  const peers = `http://127.0.0.1:${peer}`
  const flags = ['--data-dir', directory, '--listen-client-urls', url, '--log-level', 'error']
  flags.push('--advertise-client-urls', url, '--listen-peer-urls', peers)
  flags.push('--initial-advertise-peer-urls', peers, '--initial-cluster', `default=${peers}`)
  let child: ChildProcess | undefined
  const etcd: Etcd = {
    url,
    start: async () => {
      child = spawn('etcd', [...flags, '--unsafe-no-fsync'], { stdio: 'ignore' })
      for (;;) {
        const answer = await fetch(`${url}/health`).catch(() => undefined)
        if (answer?.ok) return
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
    },
    kill: async () => {
      const ending = child
      child = undefined
      if (ending === undefined) return
      ending.kill('SIGKILL')
      await once(ending, 'exit')
    },
    signal: (signal) => void child?.kill(signal),
  }
  await etcd.start()
  t.teardown(() => etcd.kill())
  return etcd
}
