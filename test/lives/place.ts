/** Where lives are played: one API server, and two kubelets with a node and a namespace each. */
import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { isConditionTrue } from '#api/conditions.js'
import { type Client, createClient } from '#client/client.js'
import type { Node, Pod } from '#client/pod.js'
import { resources } from '#client/resources.js'
import { eventually } from '../eventually.js'
import { mainFile } from '../main-file.js'
import type { Target } from '../sweep/target.js'
import { Daemon } from './daemon.js'
import { PodsSeen } from './pods-seen.js'

/** Its node and its namespace have its name. */
export interface Side {
  readonly name: string
  readonly kubelet: Daemon
}

export interface Place {
  readonly client: Client
  readonly seen: PodsSeen
  /** Which containers see, too. */
  readonly folder: string
  readonly ours: Side
  readonly against: Side
  /** Once for both sides, when both have come; only where the server is a process of its own. */
  readonly serverAway?: (seconds: number) => Promise<void>
}

const kubeconfigOf = ({ url, token }: Target): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'c', cluster: { server: url, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'u', user: { token } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  })

export const adminOf = ({ url, token }: Target): Client =>
  createClient({ server: url, token, namespace: 'default', insecureSkipTlsVerify: true }, 'lives')

export const writeKubeconfig = (target: Target, folder: string): string => {
  const file = path.join(folder, 'kubeconfig')
  writeFileSync(file, kubeconfigOf(target))
  return file
}

export const isNodeReady = async (client: Client, name: string): Promise<boolean> => {
  const node = await client.get<Node>(resources.nodes, { name }).catch(() => undefined)
  return node !== undefined && isConditionTrue(node, 'Ready')
}

interface OursOptions {
  readonly client: Client
  readonly folder: string
  readonly kubeconfig: string
  readonly flags?: readonly string[]
}

/** The kubelet of this checkout. */
export const ourSide = (name: string, { client, folder, kubeconfig, flags = [] }: OursOptions) => {
  const args = [mainFile, 'kubelet', '--kubeconfig', kubeconfig, '--node-name', name]
  const kubelet = new Daemon({
    file: process.execPath,
    args: [...args, '--root-dir', path.join(folder, name), '--leave-pods-running', ...flags],
    log: path.join(folder, `${name}.log`),
    isUp: () => isNodeReady(client, name),
    isOurs: true,
  })
  return { name, kubelet }
}

/** Of what lives have left, or were not told to the end: all, or those that a field selector picks. */
export const endPods = async (client: Client, fieldSelector?: string): Promise<void> => {
  const left = async () => {
    const options = fieldSelector === undefined ? {} : { fieldSelector }
    return (await client.list<Pod>(resources.pods, options)).items
  }
  for (const { metadata } of await left()) {
    const free = { metadata: { finalizers: null } }
    await client.patch(resources.pods, metadata, free, { type: 'merge' })
    await client.delete(resources.pods, metadata, { gracePeriodSeconds: 1 })
  }
  await eventually('the end of Pods', async () => (await left()).length === 0)
}

/** `close` leaves the API server alone. */
export const openPlace = async (
  parts: Omit<Place, 'seen'>,
): Promise<{ place: Place; close(): Promise<void> }> => {
  const { client, folder, ours, against } = parts
  mkdirSync(path.join(folder, 'ears'), { recursive: true })
  const seen = new PodsSeen(client)
  const stop = new AbortController()
  const following = seen.follow(stop.signal)
  for (const { name, kubelet } of [ours, against]) {
    await client.create(resources.namespaces, { metadata: { name } })
    await kubelet.start()
  }
  return {
    place: { ...parts, seen },
    close: async () => {
      await endPods(client)
      stop.abort()
      await following
      for (const { kubelet } of [ours, against]) await kubelet.stop()
      client.close()
    },
  }
}
