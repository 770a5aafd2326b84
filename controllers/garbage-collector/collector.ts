/** Decides about one node of the graph with a fresh look at the server (kubernetes, garbagecollector.go attemptToDeleteItem). */
import type { OwnerReference, PersistedObject } from '#api/object.js'
import { Backoff } from '#client/backoff.js'
import type { Client } from '#client/client.js'
import type { DiscoveredResource } from '#client/discovery.js'
import { isConflict, isNotFound } from '#client/errors.js'
import type { EventRecorder } from '#client/event-recorder.js'
import { inParallel } from '../pods/pod-control.js'
import { AbsentOwners } from './absent-owners.js'
import {
  foregroundFinalizer,
  type Graph,
  type GraphNode,
  type Identity,
  namedBy,
  orphanFinalizer,
} from './graph.js'

/** The pause doubles, as in a queue of failures: an owner's kind may be one that nobody can watch. */
const askAgainMs = { baseMs: 50, maxMs: 10_000 }

interface CollectorDeps {
  client: Client
  graph: Graph
  recorder: EventRecorder
  /** The resource of a kind; undefined when the server does not know it. */
  resourceOf(apiVersion: string, kind: string): DiscoveredResource | undefined
  again(node: GraphNode): void
}

interface Owners {
  solid: OwnerReference[]
  dangling: OwnerReference[]
  waiting: OwnerReference[]
}

export class Collector {
  readonly #deps: CollectorDeps
  readonly #absent = new AbsentOwners()
  /** Owners that exist and that no watch has shown. */
  readonly #unseen = new WeakMap<GraphNode, Backoff>()

  constructor(deps: CollectorDeps) {
    this.#deps = deps
  }

  warnOfForeignOwner({ identity }: GraphNode, reference: OwnerReference): void {
    const { apiVersion, kind, name, uid, namespace } = identity
    this.#deps.recorder.event(
      { apiVersion, kind, metadata: { name, uid, ...(namespace ? { namespace } : {}) } },
      'Warning',
      'OwnerRefInvalidNamespace',
      `ownerRef [${reference.apiVersion}/${reference.kind}, namespace: ${namespace}, name: ${reference.name}, uid: ${reference.uid}] does not exist in namespace "${namespace}"`,
    )
  }

  noteOwned(dependent: GraphNode, reference: OwnerReference): void {
    this.#absent.delete(namedBy(reference, dependent.identity))
  }

  noteGone(owner: Identity): void {
    this.#absent.add(owner)
  }

  async attemptToDelete(node: GraphNode): Promise<{ afterMs: number } | undefined> {
    if (this.#deps.graph.get(node.identity.uid) !== node) return undefined
    if (node.beingDeleted && !node.deletingDependents) return undefined
    // Named by a cluster-scoped dependent, which cannot have an owner in a namespace: nowhere to look, but the watch may show it.
    if (node.identity.namespace === '' && this.#resource(node.identity).namespaced) return undefined
    const sought = this.#sought(node.identity)
    const latest = await this.#readLive(node)
    if (latest === undefined) {
      this.noteGone(sought)
      return this.#deps.graph.absent(node, sought) ? this.#untilSeen(node) : undefined
    }
    if (node.virtual) return this.#untilSeen(node)
    await (node.deletingDependents
      ? this.#finishForeground(node, latest)
      : this.#judgeByOwners(node, latest))
    return undefined
  }

  async #judgeByOwners(node: GraphNode, latest: PersistedObject): Promise<void> {
    const references = latest.metadata.ownerReferences ?? []
    if (references.length === 0) return
    const owners = await this.#classify(node, references)
    if (owners === undefined) return
    if (owners.solid.length > 0) {
      const out = [...owners.dangling, ...owners.waiting]
      if (out.length > 0) await this.#dropOwners(node, latest, out)
      return
    }
    if (owners.waiting.length > 0 && node.dependents.size > 0)
      await this.#deleteInForeground(node, latest)
    else await this.#delete(node, latest, policyOf(latest))
  }

  /** Takes the owner off every dependent, then takes its `orphan` finalizer off. */
  async attemptToOrphan(node: GraphNode): Promise<void> {
    const owner = await this.#readLive(node)
    if (owner === undefined || !(owner.metadata.finalizers ?? []).includes(orphanFinalizer)) return
    await inParallel([...node.dependents], async (dependent) => {
      const latest = await this.#readLive(dependent)
      const reference = latest?.metadata.ownerReferences?.find((o) => o.uid === node.identity.uid)
      if (latest !== undefined && reference !== undefined)
        await this.#dropOwners(dependent, latest, [reference])
    })
    await this.#dropFinalizer(node, orphanFinalizer)
  }

  /** It exists, and is asked for again until a watch shows it: a list that comes after its end would not tell of it. */
  #untilSeen(node: GraphNode): { afterMs: number } {
    const backoff = this.#unseen.get(node) ?? new Backoff(askAgainMs)
    this.#unseen.set(node, backoff)
    return { afterMs: backoff.next() }
  }

  #resource({ apiVersion, kind }: Identity | OwnerReference): DiscoveredResource {
    const resource = this.#deps.resourceOf(apiVersion, kind)
    if (resource === undefined) throw new Error(`no resource for kind ${kind} of ${apiVersion}`)
    return resource
  }

  /** An owner in no namespace is named with that of its dependent. */
  #sought(identity: Identity): Identity {
    return this.#resource(identity).namespaced ? identity : { ...identity, namespace: '' }
  }

  #at(identity: Identity): { namespace?: string; name: string } {
    const { namespaced } = this.#resource(identity)
    return {
      name: identity.name,
      ...(namespaced ? { namespace: identity.namespace } : {}),
    }
  }

  /** The object now, if it still is the one of that uid. */
  async #readLive({ identity }: GraphNode): Promise<PersistedObject | undefined> {
    const resource = this.#resource(identity)
    try {
      const object = await this.#deps.client.get(resource, this.#at(identity), {
        metadataOnly: true,
      })
      return object.metadata.uid === identity.uid ? object : undefined
    } catch (error) {
      if (isNotFound(error)) return undefined
      throw error
    }
  }

  /** Undefined if it is in no namespace and names an owner that is in one: then nothing is done about it. */
  async #classify(
    node: GraphNode,
    references: readonly OwnerReference[],
  ): Promise<Owners | undefined> {
    const owners: Owners = { solid: [], dangling: [], waiting: [] }
    for (const reference of references) {
      const owner = await this.#liveOwner(node, reference)
      if (owner === 'invalid') return undefined
      if (owner === undefined) owners.dangling.push(reference)
      else if (
        owner.metadata.deletionTimestamp !== undefined &&
        (owner.metadata.finalizers ?? []).includes(foregroundFinalizer)
      )
        owners.waiting.push(reference)
      else owners.solid.push(reference)
    }
    return owners
  }

  async #liveOwner(
    node: GraphNode,
    reference: OwnerReference,
  ): Promise<PersistedObject | undefined | 'invalid'> {
    // Known before its kind went, too.
    const isAbsent = ['', node.identity.namespace].some((namespace) =>
      this.#absent.has(namedBy(reference, { namespace })),
    )
    if (isAbsent) return undefined
    const resource = this.#resource(reference)
    const namespace = resource.namespaced ? node.identity.namespace : ''
    if (resource.namespaced && namespace === '') return 'invalid'
    const sought = namedBy(reference, { namespace })
    try {
      const owner = await this.#deps.client.get(
        resource,
        { name: reference.name, ...(resource.namespaced ? { namespace } : {}) },
        { metadataOnly: true },
      )
      if (owner.metadata.uid === reference.uid) return owner
    } catch (error) {
      if (!isNotFound(error)) throw error
    }
    this.#absent.add(sought)
    return undefined
  }

  /** Lets a foreground owner go when nobody blocks it; else sees to those that do. */
  async #finishForeground(node: GraphNode, latest: PersistedObject): Promise<void> {
    if (!(latest.metadata.finalizers ?? []).includes(foregroundFinalizer)) return
    const uid = node.identity.uid
    const blocking = [...node.dependents].filter((d) =>
      d.owners.some((o) => o.uid === uid && o.blockOwnerDeletion),
    )
    if (blocking.length === 0) return this.#dropFinalizer(node, foregroundFinalizer)
    for (const dependent of blocking) if (!dependent.deletingDependents) this.#deps.again(dependent)
  }

  async #deleteInForeground(node: GraphNode, latest: PersistedObject): Promise<void> {
    // A circle: somebody below waits in foreground too, and would wait for us for ever.
    if ([...node.dependents].some((d) => d.deletingDependents)) await this.#unblock(node, latest)
    await this.#delete(node, latest, 'Foreground')
  }

  async #unblock(node: GraphNode, latest: PersistedObject): Promise<void> {
    const ownerReferences = (latest.metadata.ownerReferences ?? []).map((o) => ({
      ...o,
      blockOwnerDeletion: false,
    }))
    const patched = await this.#patchMeta(node, latest, { ownerReferences })
    latest.metadata = { ...patched.metadata }
  }

  async #delete(
    { identity }: GraphNode,
    latest: PersistedObject,
    propagationPolicy: 'Background' | 'Foreground' | 'Orphan',
  ): Promise<void> {
    const resource = this.#resource(identity)
    const { uid } = identity
    const remove = (resourceVersion: string | undefined) =>
      this.#deps.client.delete(resource, this.#at(identity), {
        propagationPolicy,
        preconditions: { uid, ...(resourceVersion ? { resourceVersion } : {}) },
      })
    try {
      await remove(latest.metadata.resourceVersion)
    } catch (error) {
      if (isNotFound(error)) return
      if (!isConflict(error)) throw error
      // Somebody has written to it meanwhile; only its owners matter here.
      const now = await this.#deps.client.get(resource, this.#at(identity), { metadataOnly: true })
      const references = (object: PersistedObject) =>
        JSON.stringify(object.metadata.ownerReferences)
      if (now.metadata.uid !== uid || references(now) !== references(latest)) throw error
      await remove(undefined)
    }
  }

  async #dropOwners(
    node: GraphNode,
    latest: PersistedObject,
    out: readonly OwnerReference[],
  ): Promise<void> {
    const gone = new Set(out.map((o) => o.uid))
    const ownerReferences = (latest.metadata.ownerReferences ?? []).filter((o) => !gone.has(o.uid))
    await this.#patchMeta(node, latest, { ownerReferences })
  }

  #patchMeta(node: GraphNode, latest: PersistedObject, metadata: object): Promise<PersistedObject> {
    const { identity } = node
    const { uid, resourceVersion } = latest.metadata
    return this.#deps.client.patch(
      this.#resource(identity),
      this.#at(identity),
      { metadata: { uid, resourceVersion, ...metadata } },
      { type: 'merge' },
    )
  }

  /** Tried a few times at once: finalizers are what many writers fight over. */
  async #dropFinalizer(node: GraphNode, finalizer: string): Promise<void> {
    for (let tries = 5; ; tries--) {
      const latest = await this.#readLive(node)
      const finalizers = latest?.metadata.finalizers ?? []
      if (latest === undefined || !finalizers.includes(finalizer)) return
      try {
        await this.#patchMeta(node, latest, {
          finalizers: finalizers.filter((f) => f !== finalizer),
        })
        return
      } catch (error) {
        if (isNotFound(error)) return
        if (!isConflict(error) || tries <= 1) throw error
      }
    }
  }
}

const policyOf = (object: PersistedObject): 'Background' | 'Foreground' | 'Orphan' => {
  const finalizers = object.metadata.finalizers ?? []
  if (finalizers.includes(orphanFinalizer)) return 'Orphan'
  return finalizers.includes(foregroundFinalizer) ? 'Foreground' : 'Background'
}
