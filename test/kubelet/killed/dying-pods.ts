/**
 * Pods of every sort, deleted in every way, while the kubelet is killed at random moments and started again. Whatever
 * the moment: every Pod ends, nothing of it is left running, and no object goes before its last process.
 */

import type { ChildProcess } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { isTerminalPhase } from '#api/pod-phase.js'
import type { Random } from '#client/random.js'
import { resources } from '#client/resources.js'
import { type ContainerSpec, type Pod, statusesOf } from '#kubelet/pod.js'
import { eventually } from '../../eventually.js'
import { imageName } from '../containerd.js'
import { processesWith, script, startNode, type TestNode } from '../node.js'

const namespace = 'default'
const finalizer = 'example.com/hold'

/** What a container does when it is asked to end. */
const manners = {
  obeys: 'exit 0',
  fails: 'exit 3',
  'takes a second': 'sleep 1; exit 0',
  'is deaf': ':',
} as const
type Manner = keyof typeof manners

const preStops = {
  none: undefined,
  sleeps: 'sleep 0.5',
  hangs: 'sleep 600',
  fails: 'false',
} as const
type PreStop = keyof typeof preStops

const ways = ['delete', 'delete, then sooner', 'delete, then force', 'force', 'evict'] as const
type Way = (typeof ways)[number]

interface Plan {
  readonly name: string
  /** In the arguments of all of its processes. */
  readonly word: string
  readonly manner: Manner
  readonly isHiding: boolean
  readonly endsByItself: boolean
  readonly preStop: PreStop
  readonly sidecars: readonly Manner[]
  readonly restartPolicy: string
  readonly graceSeconds: number
  readonly isHeld: boolean
  readonly way: Way
}

const pick = <T>(random: Random, list: readonly T[]): T => list[Math.floor(random() * list.length)]!

const drawPlan = (random: Random, name: string, word: string): Plan => ({
  name,
  word,
  manner: pick(random, Object.keys(manners) as Manner[]),
  isHiding: random() < 0.2,
  endsByItself: random() < 0.15,
  preStop: pick(random, Object.keys(preStops) as PreStop[]),
  sidecars: Array.from({ length: pick(random, [0, 0, 1, 2]) }, () =>
    pick(random, Object.keys(manners) as Manner[]),
  ),
  restartPolicy: pick(random, ['Always', 'OnFailure', 'Never']),
  graceSeconds: pick(random, [1, 2, 4]),
  isHeld: random() < 0.25,
  way: pick(random, ways),
})

const isForced = ({ way }: Plan): boolean => way.endsWith('force')

/** Whether nothing but obeying ends its main container, so that its sidecars have to wait for it. */
const keepsOrder = ({
  manner,
  preStop,
  way,
  graceSeconds,
  isHiding,
  endsByItself,
}: Plan): boolean =>
  !isHiding &&
  !endsByItself &&
  (manner === 'obeys' || manner === 'takes a second') &&
  preStop !== 'hangs' &&
  way === 'delete' &&
  graceSeconds === 4

class Round {
  readonly wrong: string[] = []
  readonly #node: TestNode
  readonly #random: Random
  readonly #image: string | undefined
  #kubelet: ChildProcess | undefined
  /** When kubelets were launched. */
  readonly #launches: number[] = []
  /** When the deletion was sent, and when it was answered. */
  readonly #deletingAt = new Map<string, number>()
  readonly #deletedAt = new Map<string, number>()

  constructor(node: TestNode, random: Random, endpoint: string | undefined) {
    this.#node = node
    this.#random = random
    this.#image = endpoint === undefined ? undefined : imageName
  }

  async play(plans: readonly Plan[]): Promise<void> {
    await this.#launch()
    for (const plan of plans) await this.#create(plan)
    for (const { name, endsByItself } of plans)
      await (endsByItself
        ? this.#node.until(name, ({ status }) => status?.startTime !== undefined)
        : this.#node.ready(name))
    const stop = new AbortController()
    const watching = this.#watch(plans, stop.signal)
    const kills = this.#kill()
    await Promise.all(plans.map((plan) => this.#end(plan)))
    await kills
    for (const plan of plans) await this.#untilGone(plan)
    stop.abort()
    await watching
    for (const plan of plans) this.#lookBack(plan)
  }

  async #launch(): Promise<void> {
    // By it a container says who started it, however late it comes to say so.
    const HOME = `/launch/${this.#launches.push(Date.now()) - 1}`
    this.#kubelet = await this.#node.startProcess([], [], { HOME })
  }

  async #create(plan: Plan): Promise<void> {
    const { name, preStop, sidecars, restartPolicy, graceSeconds, isHeld } = plan
    const command = preStops[preStop]
    const exec = { command: ['sh', '-c', `: ${plan.word}; ${command}`] }
    const container = (one: string, text: string): ContainerSpec => ({
      name: one,
      image: this.#image ?? 'none.example/main',
      ...script(`: ${plan.word}; ${text}`),
    })
    const main = container('main', this.#mainScript(plan))
    await this.#node.client.create<Pod>(resources.pods, {
      metadata: { name, namespace, ...(isHeld ? { finalizers: [finalizer] } : {}) },
      spec: {
        nodeName: 'node-1',
        restartPolicy,
        terminationGracePeriodSeconds: graceSeconds,
        initContainers: sidecars.map((manner, i) => ({
          ...container(`side-${i}`, this.#sidecarScript(plan, manner)),
          restartPolicy: 'Always',
        })),
        containers: [
          { ...main, ...(command === undefined ? {} : { lifecycle: { preStop: { exec } } }) },
        ],
      },
    } as object as Pod)
  }

  #recordOf({ name }: Plan): string {
    return path.join(this.#node.folder, `${name}.record`)
  }

  /** Where the folder can be seen only as long as the test has it: one that is killed leaves nothing that runs. */
  get #forEver(): string {
    return `while ${this.#image ? ':' : `[ -d ${this.#node.folder} ]`}; do sleep 0.1; done`
  }

  /** In a real container nothing is recorded. */
  #note(plan: Plan, what: string): string {
    return this.#image ? ':' : `echo "${what} $(date +%s%3N) $HOME" >> ${this.#recordOf(plan)}`
  }

  #mainScript(plan: Plan): string {
    const hides = `(setsid sh -c 'trap "" TERM; : ${plan.word}; ${this.#forEver}' &)`
    const life = plan.endsByItself ? 'sleep 0.4; exit 1' : this.#forEver
    return `: ${plan.word}-main; trap '${manners[plan.manner]}' TERM; ${this.#note(plan, 'start')}; ${plan.isHiding ? hides : ':'}; ${life}`
  }

  #sidecarScript(plan: Plan, manner: Manner): string {
    // The brackets keep the pattern from finding itself.
    const pattern = `[${plan.word[0]}]${plan.word.slice(1)}-main`
    const early = this.#image ? ':' : `pgrep -f "${pattern}" && ${this.#note(plan, 'early')}`
    return `trap '${early.replaceAll("'", '')}; ${manners[manner]}' TERM; ${this.#forEver}`
  }

  async #kill(): Promise<void> {
    const times = pick(this.#random, [1, 2, 3])
    for (let i = 0; i < times; i++) {
      await sleep(this.#random() * 2_000)
      this.#kubelet!.kill('SIGKILL')
      await sleep(this.#random() * 1_000)
      await this.#launch()
    }
  }

  async #end(plan: Plan): Promise<void> {
    const { name, way, graceSeconds } = plan
    await sleep(this.#random() * 1_500)
    this.#deletingAt.set(name, Date.now())
    if (way === 'force') await this.#delete(name, 0)
    else if (way === 'evict') await this.#evict(name)
    else await this.#delete(name)
    this.#deletedAt.set(name, Date.now())
    if (!way.includes(',')) return
    await sleep(this.#random() * graceSeconds * 1_000)
    await this.#delete(name, isForced(plan) ? 0 : 1)
  }

  async #delete(name: string, gracePeriodSeconds?: number): Promise<void> {
    if ((await this.#node.get(name)) === undefined) return
    await this.#node.delete(name, gracePeriodSeconds).catch((error) => {
      if (error.code !== 404) throw error
    })
  }

  async #evict(name: string): Promise<void> {
    await this.#node.client.request({
      method: 'POST',
      path: `/api/v1/namespaces/${namespace}/pods/${name}/eviction`,
      body: { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name, namespace } },
    })
  }

  /** At the moment at which an object goes nothing of it may run, unless somebody used force. */
  async #watch(plans: readonly Plan[], signal: AbortSignal): Promise<void> {
    try {
      for await (const { type, object } of this.#node.client.watch<Pod>(resources.pods, {
        namespace,
        signal,
      })) {
        const plan = plans.find(({ name }) => name === object.metadata.name)
        if (type !== 'DELETED' || plan === undefined || isForced(plan)) continue
        const left = processesWith(plan.word)
        if (left.length > 0) this.#say(plan, `went while ${left.join('; ')} ran`)
        const status = object.status ?? {}
        if (!isTerminalPhase(status.phase)) this.#say(plan, `went as ${status.phase}`)
        const running = statusesOf(status).filter(({ state }) => state.running)
        if (running.length > 0) this.#say(plan, `went with ${running[0]!.name} told to run`)
      }
    } catch (error) {
      if (!signal.aborted) throw error
    }
  }

  async #untilGone(plan: Plan): Promise<void> {
    const { name, word, isHeld } = plan
    const isOver = async (): Promise<boolean> => {
      const pod = await this.#node.get(name)
      if (pod === undefined) return true
      const isLetGo = isForced(plan) || isTerminalPhase(pod.status?.phase)
      return isHeld && isLetGo && pod.metadata.deletionGracePeriodSeconds === 0
    }
    try {
      await eventually(`the end of ${name}`, isOver)
      await eventually(`its processes`, () => processesWith(word).length === 0)
      if (isHeld)
        await this.#node.client.patch(
          resources.pods,
          { namespace, name },
          { metadata: { finalizers: null } },
          { type: 'merge' },
        )
      await this.#node.gone(name)
    } catch (error) {
      const state = JSON.stringify(await this.#node.get(name))
      this.#say(plan, `${(error as Error).message}; ${processesWith(word).join('; ')}; ${state}`)
    }
  }

  #lookBack(plan: Plan): void {
    if (!existsSync(this.#recordOf(plan))) return
    const deletedAt = this.#deletedAt.get(plan.name)!
    // After that the grace may be over, on a machine on which nothing gets on.
    const inGrace = this.#deletingAt.get(plan.name)! + plan.graceSeconds * 1_000
    for (const line of readFileSync(this.#recordOf(plan), 'utf8').split('\n')) {
      const [what, at, by] = line.split(' ')
      if (what === 'start' && this.#launches[Number(path.basename(by!))]! >= deletedAt)
        this.#say(plan, 'was started by a kubelet that came after its deletion')
      if (what === 'early' && keepsOrder(plan) && Number(at) < inGrace)
        this.#say(plan, 'had a sidecar asked to end before its main container had')
    }
  }

  #say(plan: Plan, what: string): void {
    this.wrong.push(`${what} -- ${JSON.stringify(plan)}`)
  }
}

/** What was wrong. */
export const playRound = async (
  t: Test,
  { random, pods, endpoint }: { random: Random; pods: number; endpoint?: string },
): Promise<string[]> => {
  const node = await startNode(t, {
    kubelet: 'process',
    ...(endpoint === undefined ? {} : { endpoint }),
  })
  const round = new Round(node, random, endpoint)
  const mark = `dying-${path.basename(node.folder)}`
  const plans = Array.from({ length: pods }, (_, i) =>
    drawPlan(random, `pod-${i}`, `${mark}-${String(i).padStart(2, '0')}`),
  )
  await round.play(plans)
  return round.wrong
}
