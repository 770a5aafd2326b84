/** What a story sees and does: a namespace of its own, a watch over it, and a user who tries again. */
import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ApiError } from '#api/errors.js'
import type { PersistedObject } from '#api/object.js'
import type { Client } from '#client/client.js'
import { isAlreadyExists, isConflict, isNotFound } from '#client/errors.js'
import { Informer } from '#client/informer.js'
import { silentLog } from '#client/log.js'
import { isPodReady, type Pod } from '#client/pod.js'
import { type ResourceRef, resources } from '#client/resources.js'
import { eventually } from '../eventually.js'
import { imageName } from '../kubelet/containerd.js'
import { type ClusterProcesses, clusterVariable } from './processes.js'

const watched = {
  pods: resources.pods,
  slices: resources.endpointSlices,
  sets: resources.statefulSets,
  replicaSets: resources.replicaSets,
  deployments: resources.deployments,
  nodes: resources.nodes,
  namespaces: resources.namespaces,
} satisfies Record<string, ResourceRef>
type Watched = keyof typeof watched

/** Times out a call of the user's; then it is tried again. */
const callMs = 5_000

export class World {
  readonly cluster: ClusterProcesses
  readonly namespace: string
  readonly folder: string
  readonly #stop = new AbortController()
  readonly #informers = new Map<Watched, Informer>()
  readonly #running: Promise<void>[] = []
  /** uid of each Pod that was ever seen, in the order of appearance, with its last state. */
  readonly everyPod = new Map<string, Pod>()
  readonly gonePods = new Set<string>()
  onChange: () => void = () => {}
  onPod: (event: 'added' | 'deleted', pod: Pod) => void = () => {}

  readonly #patienceMs: number

  /** Waits as long as `patienceMs` for what a story wants to see. */
  constructor(cluster: ClusterProcesses, namespace: string, patienceMs = 120_000) {
    this.cluster = cluster
    this.namespace = namespace
    this.#patienceMs = patienceMs
    this.folder = path.join(cluster.folder, 'records', namespace)
    mkdirSync(this.folder, { recursive: true, mode: 0o777 })
  }

  get client(): Client {
    return this.cluster.client
  }

  async open(): Promise<void> {
    for (const [name, ref] of Object.entries(watched) as [Watched, ResourceRef][]) {
      const informer = new Informer({
        client: this.client,
        ref,
        log: silentLog,
        ...(ref.namespaced ? { namespace: this.namespace } : {}),
      })
      this.#informers.set(name, informer)
      const changed = (object: PersistedObject) => {
        if (name === 'pods') this.everyPod.set(object.metadata.uid, object as Pod)
        this.onChange()
      }
      informer.handle({
        onAdd: (object) => {
          changed(object)
          if (name === 'pods') this.onPod('added', object as Pod)
        },
        onUpdate: changed,
        onDelete: (object) => {
          changed(object)
          if (name === 'pods') {
            this.gonePods.add(object.metadata.uid)
            this.onPod('deleted', object as Pod)
          }
          this.onChange()
        },
      })
      this.#running.push(informer.run(this.#stop.signal))
    }
    await Promise.all([...this.#informers.values()].map((informer) => informer.synced()))
    await this.ask(() =>
      this.client.create(resources.namespaces, { metadata: { name: this.namespace } }),
    )
  }

  async close(): Promise<void> {
    this.onChange = () => {}
    this.#stop.abort()
    await Promise.all(this.#running)
  }

  // ---- what is seen

  #find(what: Watched, name: string): PersistedObject | undefined {
    const { namespaced } = watched[what]
    return this.#informers.get(what)!.store.get(namespaced ? `${this.namespace}/${name}` : name)
  }
  pod(name: string): Pod | undefined {
    return this.#find('pods', name) as Pod | undefined
  }
  pods(): Pod[] {
    return this.#informers.get('pods')!.store.list() as Pod[]
  }
  set(name: string): PersistedObject | undefined {
    return this.#find('sets', name)
  }
  deployment(name: string): PersistedObject | undefined {
    return this.#find('deployments', name)
  }
  replicaSets(): PersistedObject[] {
    return this.#informers.get('replicaSets')!.store.list()
  }
  node(name: string): PersistedObject | undefined {
    return this.#find('nodes', name)
  }
  namespaceObject(): PersistedObject | undefined {
    return this.#find('namespaces', this.namespace)
  }
  /** Endpoints of all slices, by the uid of their Pod. */
  endpoint(uid: string | undefined): Record<string, boolean> | undefined {
    for (const slice of this.#informers.get('slices')!.store.list()) {
      // biome-ignore lint/suspicious/noExplicitAny: as the API gives them
      for (const endpoint of ((slice as any).endpoints ?? []) as any[])
        if (endpoint.targetRef?.uid === uid) return endpoint.conditions
    }
    return undefined
  }
  isReady(name: string): boolean {
    const pod = this.pod(name)
    return pod !== undefined && pod.metadata.deletionTimestamp === undefined && isPodReady(pod)
  }

  /** What Pods have written of themselves: one word a line. */
  record(name: string): string[] {
    const file = path.join(this.folder, name)
    return existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : []
  }

  // ---- what is done

  /** As a user does who tries again until the server is back and has taken it. */
  async ask<T>(call: () => Promise<T>): Promise<T | undefined> {
    for (;;) {
      try {
        return await Promise.race([
          call(),
          sleep(callMs).then(() => Promise.reject(new Error('no answer'))),
        ])
      } catch (error) {
        // An earlier try may have been heard, though its answer was lost.
        if (isAlreadyExists(error) || isNotFound(error)) return undefined
        if (error instanceof ApiError && error.code < 500 && error.code !== 429) throw error
        await sleep(50)
      }
    }
  }

  create(ref: ResourceRef, name: string, body: object): Promise<unknown> {
    const metadata = { name, namespace: this.namespace }
    return this.ask(() => this.client.create(ref, { metadata, ...body }))
  }

  delete(
    ref: ResourceRef,
    name: string,
    options: Parameters<Client['delete']>[2] = {},
  ): Promise<unknown> {
    const at = ref.namespaced ? { namespace: this.namespace, name } : { name }
    // A second try must not meet the one that has taken the name since.
    const uid = ref === resources.pods ? this.pod(name)?.metadata.uid : undefined
    const preconditions = uid === undefined ? {} : { preconditions: { uid } }
    return this.ask(() =>
      this.client.delete(ref, at, { ...options, ...preconditions }).catch((error) => {
        if (!isConflict(error)) throw error
      }),
    )
  }

  /** A word of the story's own. */
  note(file: string, word: string): void {
    appendFileSync(path.join(this.folder, file), `${word}\n`)
  }

  patch(ref: ResourceRef, name: string, patch: object): Promise<unknown> {
    const at = ref.namespaced ? { namespace: this.namespace, name } : { name }
    return this.ask(() => this.client.patch(ref, at, patch, { type: 'merge' }))
  }

  async until(what: string, holds: () => unknown): Promise<void> {
    await eventually(`${what} in ${this.namespace}`, holds, this.#patienceMs)
  }

  /** Processes of this namespace's Pods. */
  processes(): ReturnType<ClusterProcesses['podProcesses']> {
    return this.cluster.podProcesses().filter(({ pod }) => pod.startsWith(`${this.namespace}/`))
  }

  /**
   * A container that records its life: its uid in `starts`, and in `two` when another process of its identity still
   * lives, which a lock of the kernel's tells where flock(1) is (not in a busybox). Then it does what `onTerm` says at SIGTERM.
   */
  container(onTerm: string, extra: object = {}): object {
    const { folder } = this
    const field = (name: string, fieldPath: string) => ({
      name,
      valueFrom: { fieldRef: { fieldPath } },
    })
    const command = `exec 9>"${folder}/lock-$STORY_POD"
! command -v flock >/dev/null || flock -n 9 || echo "$STORY_POD" >>"${folder}/two"
trap '${onTerm.replaceAll('$RECORDS', folder)}' TERM
echo "$STORY_UID" >>"${folder}/starts"
while :; do sleep 0.05 9>&-; done`
    return {
      name: 'main',
      image: this.cluster.isContainerized ? imageName : 'none.example/main',
      command: ['sh', '-c', command],
      env: [
        { name: clusterVariable, value: this.cluster.folder },
        field('STORY_POD', 'metadata.name'),
        field('STORY_NAMESPACE', 'metadata.namespace'),
        field('STORY_UID', 'metadata.uid'),
      ],
      // Seen in a container where it is outside.
      ...(this.cluster.isContainerized
        ? { volumeMounts: [{ name: 'records', mountPath: folder }] }
        : {}),
      ...extra,
    }
  }

  podSpec(onTerm: string, extra: object = {}, containerExtra: object = {}): object {
    return {
      terminationGracePeriodSeconds: 20,
      containers: [this.container(onTerm, containerExtra)],
      ...(this.cluster.isContainerized
        ? { volumes: [{ name: 'records', hostPath: { path: this.folder } }] }
        : {}),
      ...extra,
    }
  }
}
