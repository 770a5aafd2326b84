/** Plays a life on both nodes at once, and tells both stories. */
import { existsSync, readFileSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isConditionTrue } from '#api/conditions.js'
import { ApiError } from '#api/errors.js'
import type { NamespacedObject } from '#api/object.js'
import type { Pod } from '#client/pod.js'
import { resources } from '#client/resources.js'
import { eventually } from '../eventually.js'
import { type Ears, withEars } from './containers.js'
import type { Life, Step } from './life.js'
import { endPods, type Place, type Side } from './place.js'
import { eventOf, type Moment, type Story, versionOf } from './story.js'

const waitedMs = 90_000
/** Events are told behind what they are about. */
const eventsMs = 1_500

interface Status {
  readonly phase?: string
  readonly containerStatuses?: ContainerStatus[]
  readonly initContainerStatuses?: ContainerStatus[]
}
interface ContainerStatus {
  readonly restartCount: number
  readonly state?: { readonly waiting?: { readonly reason?: string } }
}

/** What a client would make of it. `at` is its name and namespace. */
export const podOf = ({ spec }: Life, at: object, nodeName: string, ears: Ears) => {
  const own = withEars(spec, ears)
  const volumes = [{ name: 'ears', hostPath: { path: ears.folder } }, ...(own.volumes ?? [])]
  const quiet = { automountServiceAccountToken: false, enableServiceLinks: false }
  return { metadata: at, spec: { nodeName, ...quiet, ...own, volumes } }
}

class Player {
  readonly #place: Place
  readonly #side: Side
  readonly #life: Life
  readonly #ears: Ears
  readonly #moments: Moment[] = []

  constructor(place: Place, side: Side, life: Life) {
    this.#place = place
    this.#side = side
    this.#life = life
    const folder = path.join(place.folder, 'ears')
    this.#ears = { folder, file: path.join(folder, `${side.name}.${life.name}`) }
  }

  get #at() {
    return { namespace: this.#side.name, name: this.#life.name }
  }
  get #key(): string {
    return `${this.#side.name}/${this.#life.name}`
  }

  async play(): Promise<Story> {
    const { client, seen } = this.#place
    rmSync(this.#ears.file, { force: true })
    seen.expect(this.#key)
    const wanted = podOf(this.#life, this.#at, this.#side.name, this.#ears)
    const pod = await client.create<Pod>(resources.pods, wanted)
    for (const step of this.#life.steps) await this.#do(step)
    await sleep(eventsMs)
    const story = await this.#story(pod.metadata.uid)
    const { namespace, name } = this.#at
    await endPods(client, `metadata.namespace=${namespace},metadata.name=${name}`)
    return story
  }

  async #do(step: Step): Promise<void> {
    const answer = await this.#answerTo(step).then(
      () => '',
      (error: unknown) => {
        if (error instanceof ApiError) return `: ${error.status.code} ${error.status.message}`
        return `: ${(error as Error).message}`
      },
    )
    this.#moments.push({ at: os.uptime(), what: `${step}${answer}` })
  }

  async #answerTo(step: Step): Promise<unknown> {
    const { client } = this.#place
    const [verb, word = '', ...rest] = step.split(' ')
    switch (verb) {
      case 'until':
        return eventually(step, () => this.#holds(word, rest.join(' ')), waitedMs)
      case 'sleep':
        return sleep(Number(word) * 1_000)
      case 'delete':
        return client.delete(
          resources.pods,
          this.#at,
          word === '' ? {} : { gracePeriodSeconds: Number(word) },
        )
      case 'evict':
        return client.create(
          resources.pods,
          { apiVersion: 'policy/v1', kind: 'Eviction', metadata: this.#at },
          { ...this.#at, subresource: 'eviction' },
        )
      case 'hold':
        return this.#patch({ metadata: { finalizers: ['example.com/hold'] } })
      case 'release':
        return this.#patch({ metadata: { finalizers: null } })
      case 'patch': {
        const { spec, subresource } = this.#life.patches[word]!
        return this.#patch({ spec: withEars(spec, this.#ears) }, subresource)
      }
      case 'kubelet':
        return word === 'stops'
          ? this.#side.kubelet.stop(rest[0] as NodeJS.Signals)
          : this.#side.kubelet.start(rest)
      default:
        return this.#place.serverAway!(Number(rest[0]))
    }
  }

  #holds(word: string, rest: string): boolean {
    const { seen } = this.#place
    if (word === 'gone') return seen.isGone(this.#key)
    if (word === 'said') return this.#said().some(({ what }) => what === rest)
    const pod = seen.of(this.#key).at(-1)
    const status = pod?.status as Status | undefined
    const containers = [
      ...(status?.initContainerStatuses ?? []),
      ...(status?.containerStatuses ?? []),
    ]
    if (word === 'ready') return pod !== undefined && isConditionTrue(pod, 'Ready')
    if (word === 'restarted') return containers.some(({ restartCount }) => restartCount > 0)
    if (word === 'waiting') return containers.some(({ state }) => state?.waiting?.reason === rest)
    return status?.phase === word
  }

  #patch(patch: object, subresource?: string): Promise<unknown> {
    const options = { type: 'strategic', ...(subresource ? { subresource } : {}) } as const
    return this.#place.client.patch(resources.pods, this.#at, patch, options)
  }

  #said(): Moment[] {
    if (!existsSync(this.#ears.file)) return []
    const lines = readFileSync(this.#ears.file, 'utf8').split('\n').filter(Boolean)
    return lines.map((line) => {
      const [at, ...words] = line.split(' ')
      return { at: Number(at), what: words.join(' ') }
    })
  }

  async #story(uid: string): Promise<Story> {
    const { client, seen } = this.#place
    const { name, namespace } = this.#at
    const { items } = await client.list<NamespacedObject>(resources.events, { namespace })
    // biome-ignore lint/suspicious/noExplicitAny: a field of Events
    const own = items.filter((event) => (event as any).regarding.uid === uid)
    const lines = own.map((event) => eventOf(event, namespace).replaceAll(name, '<pod>'))
    return {
      moments: [...this.#moments, ...this.#said()].sort((a, b) => a.at - b.at),
      versions: seen.of(this.#key).map((pod) => versionOf(pod, namespace)),
      events: [...new Set(lines)].sort(),
    }
  }
}

interface Stories {
  readonly ours: Story
  readonly against: Story
}

/** The same life, unless somebody wants to see what differs of two. */
export const playLife = async (
  place: Place,
  life: Life,
  ourLife: Life = life,
): Promise<Stories> => {
  const [ours, against] = await Promise.all([
    new Player(place, place.ours, ourLife).play(),
    new Player(place, place.against, life).play(),
  ])
  return { ours, against }
}
