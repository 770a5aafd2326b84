/** A server that is asked by the scheduler, and a cluster whose scheduler asks it. */
import { writeFileSync } from 'node:fs'
import http from 'node:http'
import https from 'node:https'
import path from 'node:path'
import type { Test } from 'tap'
import { conditionOf } from '#api/conditions.js'
import type { Client } from '#client/client.js'
import type { Node, Pod } from '#client/pod.js'
import { resources } from '#client/resources.js'
import { parseFlags } from '#program/flags.js'
import { schedulerProcess } from '#scheduler/main.js'
import { startBeside } from '../controllers/in-process.js'
import { eventually } from '../eventually.js'
import { listen } from '../listen.js'
import { scheduleLater } from './device-cluster.js'

interface Victims {
  Pods: { UID?: string; metadata?: { uid: string; name: string } }[]
  NumPDBViolations: number
}
export interface Question {
  Pod: Pod & { kind?: string }
  Nodes: { items: Node[] } | null
  NodeNames: string[] | null
  NodeNameToVictims: Record<string, Victims> | null
  NodeNameToMetaVictims: Record<string, Victims> | null
  PodName: string
  PodNamespace: string
  PodUID: string
  Node: string
}
interface Asked {
  verb: string
  question: Question
}
/** A number is the code of an answer that says nothing, and a text what it says as it is. */
export type Answer = (asked: Asked) => object | string | number | Promise<object | string>

export const startExtender = async (
  t: Test,
  answer: Answer,
  tls?: https.ServerOptions,
): Promise<{ url: string; asked: Asked[] }> => {
  const asked: Asked[] = []
  const handle: http.RequestListener = async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const question = JSON.parse(Buffer.concat(chunks).toString()) as Question
    const one = { verb: request.url!.slice(1), question }
    asked.push(one)
    const said = await answer(one)
    response.statusCode = typeof said === 'number' ? said : 200
    response.end(typeof said === 'object' ? JSON.stringify(said) : String(said))
  }
  const port = await listen(t, tls ? https.createServer(tls, handle) : http.createServer(handle))
  return { url: `${tls ? 'https' : 'http'}://127.0.0.1:${port}`, asked }
}

export const namespace = 'default'
const capacity = { cpu: '4', memory: '8Gi', pods: '10', 'example.com/x': '5' }

/** Two nodes, `a` and `b`, and a scheduler that asks these. */
export const startExtended = async (t: Test, extenders: readonly object[]): Promise<Client> => {
  const file = path.join(t.testdir(), 'config.json')
  const head = { apiVersion: 'kubescheduler.config.k8s.io/v1', kind: 'KubeSchedulerConfiguration' }
  writeFileSync(file, JSON.stringify({ ...head, extenders }))
  const flags = parseFlags(['--config', file], schedulerProcess.flags)
  const options = { disableAdmissionPlugins: ['ServiceAccount'] }
  const { run, begin } = scheduleLater((deps) => schedulerProcess.run(deps, flags))
  const client = await startBeside(t, run, undefined, options)
  for (const name of ['a', 'b'])
    await client.create(resources.nodes, {
      metadata: { name },
      status: { capacity, allocatable: capacity },
    })
  begin()
  return client
}

export const make = (
  client: Client,
  name: string,
  { requests = { cpu: '100m' }, ...spec }: { requests?: object; [field: string]: unknown } = {},
) =>
  client.create<Pod>(resources.pods, {
    metadata: { name, namespace },
    spec: {
      containers: [{ name: 'c', image: 'i', resources: { requests, limits: requests } }],
      tolerations: [{ operator: 'Exists' }],
      terminationGracePeriodSeconds: 0,
      ...spec,
    },
  })

export const podOf = (client: Client, name: string) =>
  client.get<Pod>(resources.pods, { namespace, name })
export const nodeOf = (client: Client, name: string) =>
  eventually(`${name} has a node`, async () => (await podOf(client, name)).spec.nodeName)
/** Why it has none. */
export const toldOf = (client: Client, name: string) =>
  eventually(`${name} is told`, async () => {
    const condition = conditionOf(await podOf(client, name), 'PodScheduled')
    return condition && { reason: condition.reason, message: condition.message }
  })
