/** A server that has a say in where Pods go: which nodes will do, and which is best. Upstream: HTTPExtender. */
import { withinTime } from '#async/within-time.js'
import { messageOf } from '#client/errors.js'
import { writeJson } from '#client/exact-json.js'
import type { Node, Pod } from '#client/pod.js'
import { createTransport, type Transport } from '#client/transport.js'
import { goNetError } from '#go/net-error.js'
import { goQuote } from '#go/quote.js'
import { trimRight } from '#go/trim-right.js'
import { limits } from '#limits'
import type { ConfiguredExtender } from '../configuration/extenders.js'
import { curable, hopeless, type Refusal } from '../filter.js'
import { NodeInfo } from '../node-info.js'
import type { Candidate } from '../preemption.js'
import {
  type NamedVictims,
  readBinding,
  readFilter,
  readPreemption,
  readPriorities,
} from './answers.js'

interface Filtered {
  readonly left: readonly NodeInfo[]
  /** By the names of nodes. */
  readonly refusals: ReadonlyMap<string, Refusal>
}

/** As upstream's objects come from its cache. */
const shown = <T extends object>(object: T): object => {
  const { kind: _kind, apiVersion: _version, ...rest } = object as { [field: string]: unknown }
  return rest
}

const nameOf = ({ node }: NodeInfo): string => node!.metadata.name

/** A node as the extender gives it back: upstream compares it as one without Pods. */
const bareNode = (given: Node): NodeInfo => {
  const info = new NodeInfo()
  info.setNode({ ...given, spec: given.spec ?? {}, status: given.status ?? {} })
  return info
}

const asksFor = ({ spec }: Pod, names: ReadonlySet<string>): boolean =>
  [...spec.containers, ...(spec.initContainers ?? [])].some(({ resources: given }) =>
    [given?.requests, given?.limits].some((amounts) =>
      Object.keys(amounts ?? {}).some((name) => names.has(name)),
    ),
  )

/** What Go's HTTP client says of its own timeout. */
const late = (what: string, error: Error): string => {
  const message = goNetError(error)
  return message === 'context deadline exceeded' ? `${message} (Client.Timeout ${what})` : message
}

export class Extender {
  readonly #configured: ConfiguredExtender
  #transport: Transport | undefined

  constructor(configured: ConfiguredExtender) {
    this.#configured = configured
  }

  get url(): string {
    return this.#configured.url
  }
  get isIgnorable(): boolean {
    return this.#configured.isIgnorable
  }
  get preempts(): boolean {
    return this.#configured.verbs.preempt !== ''
  }
  get binds(): boolean {
    return this.#configured.verbs.bind !== ''
  }

  isInterestedIn(pod: Pod): boolean {
    const { resources } = this.#configured
    return resources.size === 0 || asksFor(pod, resources)
  }

  async filter(pod: Pod, nodes: readonly NodeInfo[], signal: AbortSignal): Promise<Filtered> {
    const { verbs, knowsNodes } = this.#configured
    if (verbs.filter === '') return { left: nodes, refusals: new Map() }
    const answer = readFilter(await this.#ask('filter', this.#about(pod, nodes), signal)) ?? {}
    const { Error: problem, NodeNames: names, Nodes: given, FailedNodes: failed = {} } = answer
    if (problem) throw new Error(problem)
    const refusals = new Map([
      ...Object.entries(failed).map(([node, why]) => [node, curable(why ?? '')] as const),
      ...Object.entries(answer.FailedAndUnresolvableNodes ?? {}).map(
        ([node, why]) => [node, hopeless(why ?? '')] as const,
      ),
    ])
    const left =
      knowsNodes && names !== undefined
        ? this.#named(names, nodes)
        : (given?.items ?? []).map(bareNode)
    return { left, refusals }
  }

  #named(names: readonly string[], nodes: readonly NodeInfo[]): NodeInfo[] {
    const byName = new Map(nodes.map((info) => [nameOf(info), info]))
    return names.map((name) => {
      const info = byName.get(name)
      if (info !== undefined) return info
      throw new Error(
        `extender ${goQuote(this.url)} claims a filtered node ${goQuote(name)} which is not found in the input node list`,
      )
    })
  }

  /** What it adds to the total of each node, by name. */
  async prioritize(
    pod: Pod,
    nodes: readonly NodeInfo[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, number>> {
    const { verbs, weight } = this.#configured
    const added = new Map<string, number>()
    if (verbs.prioritize === '') return added
    const answer = readPriorities(await this.#ask('prioritize', this.#about(pod, nodes), signal))
    for (const { Host: host = '', Score: score = 0 } of answer ?? [])
      added.set(host, (added.get(host) ?? 0) + score * weight * (100 / limits.extenderScoreMax))
    return added
  }

  /** The candidates that it leaves, with the victims that it names. */
  async preempt(
    pod: Pod,
    candidates: readonly Candidate[],
    { nodes, signal }: { nodes: readonly NodeInfo[]; signal: AbortSignal },
  ): Promise<Candidate[]> {
    const { knowsNodes } = this.#configured
    const victims = Object.fromEntries(
      candidates.map(({ info, victims: { pods, violations } }) => [
        nameOf(info),
        {
          Pods: pods.map((victim) => (knowsNodes ? { UID: victim.metadata.uid } : shown(victim))),
          NumPDBViolations: violations,
        },
      ]),
    )
    const question = {
      Pod: shown(pod),
      NodeNameToVictims: knowsNodes ? null : victims,
      NodeNameToMetaVictims: knowsNodes ? victims : null,
    }
    const answer = readPreemption(await this.#ask('preempt', question, signal)) ?? {}
    return Object.entries(answer.NodeNameToMetaVictims ?? {}).map(([name, named]) => {
      const info = nodes.find((one) => nameOf(one) === name)
      if (info === undefined) throw new Error(`nodeinfo not found for node name ${goQuote(name)}`)
      return { info, victims: this.#victims(info, named) }
    })
  }

  #victims(
    info: NodeInfo,
    { Pods: named = [], NumPDBViolations: violations = 0 }: NamedVictims = {},
  ) {
    const pods = named.map(({ UID: uid = '' }) => {
      const pod = [...info.pods.values()].find(({ metadata }) => metadata.uid === uid)
      if (pod !== undefined) return pod
      throw new Error(
        `extender: ${this.url} claims to preempt pod (UID: &{${uid}}) on node: ${nameOf(info)}, but the pod is not found on that node`,
      )
    })
    return { pods, violations }
  }

  async bind({ metadata }: Pod, node: string): Promise<void> {
    const { name, namespace, uid } = metadata
    const question = { PodName: name, PodNamespace: namespace, PodUID: uid, Node: node }
    // What was begun is brought to its end, also when the scheduler stops.
    const answer = readBinding(await this.#ask('bind', question, new AbortController().signal))
    if (answer?.Error) throw new Error(answer.Error)
  }

  #about(pod: Pod, nodes: readonly NodeInfo[]): object {
    const { knowsNodes } = this.#configured
    return {
      Pod: shown(pod),
      Nodes: knowsNodes ? null : { metadata: {}, items: nodes.map(({ node }) => shown(node!)) },
      NodeNames: knowsNodes ? nodes.map(nameOf) : null,
    }
  }

  /** The text of the answer. */
  #ask(
    action: keyof ConfiguredExtender['verbs'],
    question: object,
    signal: AbortSignal,
  ): Promise<string> {
    const { verbs, timeoutMs } = this.#configured
    const verb = verbs[action]
    const url = `${trimRight(this.url, '/')}/${verb}`
    const post = `Post ${goQuote(url)}: `
    return withinTime(signal, timeoutMs, async (own) => {
      const answer = await this.#open(post)
        .send({
          method: 'POST',
          path: `/${verb}`,
          body: writeJson(question),
          // It may be on a kept connection that has just ended; whoever answers has to stand being asked twice.
          canRepeat: true,
          headers: { 'content-type': 'application/json' },
          signal: own,
        })
        .catch((error: Error) => {
          throw new Error(`${post}${late('exceeded while awaiting headers', error)}`)
        })
      const { statusCode: code } = answer
      if (code !== 200) {
        answer.destroy()
        throw new Error(`failed ${verb} with extender at URL ${url}, code ${code}`)
      }
      return readAnswer(answer)
    })
  }

  #open(post: string): Transport {
    const { connection, timeoutMs } = this.#configured
    if (!/^https?:\/\//i.test(this.url)) {
      const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(this.url)?.[1] ?? ''
      throw new Error(`${post}unsupported protocol scheme ${goQuote(scheme)}`)
    }
    // The time is over earlier.
    try {
      this.#transport ??= createTransport(
        { ...connection, server: this.url },
        { answerTimeoutMs: timeoutMs + 5_000 },
      )
      return this.#transport
    } catch (error) {
      throw new Error(`${post}${messageOf(error)}`, { cause: error })
    }
  }

  close(): void {
    this.#transport?.close()
  }
}

const readAnswer = async (answer: AsyncIterable<Buffer>): Promise<string> => {
  const chunks: Buffer[] = []
  let bytes = 0
  try {
    for await (const chunk of answer) {
      chunks.push(chunk)
      bytes += chunk.length
      if (bytes > limits.extenderAnswerBytesMax)
        throw new Error(`the answer has more than ${limits.extenderAnswerBytesMax} bytes`)
    }
  } catch (error) {
    throw new Error(late('or context cancellation while reading body', error as Error))
  }
  return Buffer.concat(chunks).toString()
}
