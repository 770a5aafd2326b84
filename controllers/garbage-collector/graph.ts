/**
 * Who owns whom, over all kinds. Fed by the watch; owners that were named but never seen are `virtual` until the
 * server was asked for them. Upstream: GraphBuilder.
 */
import { groupOf } from '#api/group-version.js'
import type { OwnerReference, PersistedObject } from '#api/object.js'

/** What a reference points at, with the namespace it is looked up in. */
export interface Identity {
  apiVersion: string
  kind: string
  name: string
  uid: string
  /** Empty for cluster scope. */
  namespace: string
}

export interface GraphNode {
  identity: Identity
  owners: readonly OwnerReference[]
  readonly dependents: Set<GraphNode>
  /** Named by a dependent, not seen yet. */
  virtual: boolean
  beingDeleted: boolean
  /** Terminating with finalizer foregroundDeletion: waits for its dependents. */
  deletingDependents: boolean
}

export const foregroundFinalizer = 'foregroundDeletion'
export const orphanFinalizer = 'orphan'

/** What the graph asks to be looked at. */
interface Attention {
  delete(node: GraphNode): void
  orphan(node: GraphNode): void
  /** An object names an owner that it did not name before. */
  owned(dependent: GraphNode, reference: OwnerReference): void
  /** The owner that the reference names lives in a namespace that is not the dependent's. */
  foreignOwner(dependent: GraphNode, reference: OwnerReference): void
}

const identityOf = (object: PersistedObject): Identity => ({
  apiVersion: object.apiVersion,
  kind: object.kind,
  name: object.metadata.name,
  uid: object.metadata.uid,
  namespace: object.metadata.namespace ?? '',
})

/** Where the owner is looked for that somebody in the namespace names. */
export const namedBy = (
  { apiVersion, kind, name, uid }: OwnerReference,
  { namespace }: Pick<Identity, 'namespace'>,
): Identity => ({ apiVersion, kind, name, uid, namespace })

const isSame = (one: Identity, other: Identity): boolean =>
  groupOf(one.apiVersion) === groupOf(other.apiVersion) &&
  one.kind === other.kind &&
  one.name === other.name &&
  one.namespace === other.namespace

const referenceTo = (uid: string, dependent: GraphNode): OwnerReference =>
  dependent.owners.find((o) => o.uid === uid)!

const isTerminating = (object: PersistedObject): boolean =>
  object.metadata.deletionTimestamp !== undefined
const waitsFor = (object: PersistedObject, finalizer: string): boolean =>
  isTerminating(object) && (object.metadata.finalizers ?? []).includes(finalizer)

/** The graph may hold one uid under several names when a dependent names its owner wrongly: the seen one wins. */
export class Graph {
  readonly #nodes = new Map<string, GraphNode>()
  readonly #attention: Attention

  constructor(attention: Attention) {
    this.#attention = attention
  }

  get(uid: string): GraphNode | undefined {
    return this.#nodes.get(uid)
  }

  /** An object was added or changed. */
  seen(object: PersistedObject, previous?: PersistedObject): void {
    const known = this.#nodes.get(object.metadata.uid)
    if (known === undefined) this.#insert(object)
    else this.#change(known, object)
    if (!waitedBefore(previous, orphanFinalizer) && waitsFor(object, orphanFinalizer))
      this.#attention.orphan(this.#nodes.get(object.metadata.uid)!)
  }

  /** An object is gone, or was found not to exist. */
  gone(uid: string): void {
    const node = this.#nodes.get(uid)
    if (node === undefined) return
    this.#nodes.delete(uid)
    for (const owner of node.owners) this.#unlink(node, owner)
    for (const dependent of node.dependents) this.#attention.delete(dependent)
    // Its owners may have waited for it.
    for (const { uid: ownerUid } of node.owners) {
      const owner = this.#nodes.get(ownerUid)
      if (owner?.deletingDependents) this.#attention.delete(owner)
    }
  }

  /**
   * No object of the node's uid is where it was sought. It counts as gone, unless the watch has shown it elsewhere meanwhile.
   * True: somebody names it in another way, and so it is to be sought. Who names it rightly must not be forgotten.
   */
  absent(node: GraphNode, sought: Identity): boolean {
    if (!node.virtual && !isSame(node.identity, sought)) return false
    const names = (dependent: GraphNode): boolean =>
      matches(referenceTo(sought.uid, dependent), { identity: sought }, dependent)
    const other = [...node.dependents].find((d) => !d.beingDeleted && !names(d))
    if (!node.virtual || other === undefined) {
      this.gone(sought.uid)
      return false
    }
    for (const dependent of node.dependents) if (names(dependent)) this.#attention.delete(dependent)
    node.identity = namedBy(referenceTo(sought.uid, other), other.identity)
    return true
  }

  #insert(object: PersistedObject): void {
    const node: GraphNode = {
      identity: identityOf(object),
      owners: object.metadata.ownerReferences ?? [],
      dependents: new Set(),
      virtual: false,
      beingDeleted: isTerminating(object),
      deletingDependents: waitsFor(object, foregroundFinalizer),
    }
    this.#nodes.set(node.identity.uid, node)
    this.#linkAll(node, node.owners)
    if (node.deletingDependents) this.#attendForeground(node)
    // At a start, an owner may have gone while nobody watched: virtual owners are asked for, and that tells.
  }

  #change(node: GraphNode, object: PersistedObject): void {
    const wasVirtual = node.virtual
    node.virtual = false
    node.identity = identityOf(object)
    this.#changeOwners(node, object.metadata.ownerReferences ?? [])
    node.beingDeleted = isTerminating(object)
    const waits = waitsFor(object, foregroundFinalizer)
    if (waits && !node.deletingDependents) {
      node.deletingDependents = true
      this.#attendForeground(node)
    } else node.deletingDependents = waits
    // Dependents that named this uid under another identity have to be looked at again.
    if (wasVirtual) for (const dependent of node.dependents) this.#attendMismatch(node, dependent)
  }

  #attendMismatch(owner: GraphNode, dependent: GraphNode): void {
    const reference = dependent.owners.find((o) => o.uid === owner.identity.uid)
    if (reference === undefined || matches(reference, owner, dependent)) return
    if (!isReachable(owner, dependent)) this.#attention.foreignOwner(dependent, reference)
    this.#attention.delete(dependent)
  }

  #changeOwners(node: GraphNode, next: readonly OwnerReference[]): void {
    const previous = node.owners
    node.owners = next
    for (const old of previous) {
      const now = next.find((o) => o.uid === old.uid)
      if (now === undefined) this.#unlink(node, old)
      // A dependent that no longer blocks its owner, or no longer belongs to it, may set it free.
      if (old.blockOwnerDeletion && !now?.blockOwnerDeletion) {
        const owner = this.#nodes.get(old.uid)
        if (owner?.deletingDependents) this.#attention.delete(owner)
      }
    }
    const added = next.filter((o) => !previous.some((p) => p.uid === o.uid))
    this.#linkAll(node, added)
    if (added.length > 0 || previous.length > next.length) this.#attention.delete(node)
  }

  /** Of the references that are wrong only the first is told of. */
  #linkAll(node: GraphNode, references: readonly OwnerReference[]): void {
    let isRight = true
    for (const reference of references) {
      const known = this.#nodes.get(reference.uid)
      if (isRight && known?.virtual === false && !isReachable(known, node))
        this.#attention.foreignOwner(node, reference)
      isRight = this.#link(node, reference) && isRight
    }
  }

  /** Says whether the owner is, as far as is known, the one that is named. */
  #link(node: GraphNode, reference: OwnerReference): boolean {
    this.#attention.owned(node, reference)
    const known = this.#nodes.get(reference.uid)
    if (known !== undefined) {
      known.dependents.add(node)
      const isMeant = known.virtual
        ? isSame(known.identity, namedBy(reference, node.identity))
        : matches(reference, known, node)
      // An owner that nobody has seen is sought where one dependent says; the others are looked at by themselves.
      if (!isMeant) this.#attention.delete(node)
      else if (known.deletingDependents) this.#attention.delete(node)
      return isMeant
    }
    const owner: GraphNode = {
      identity: namedBy(reference, node.identity),
      owners: [],
      dependents: new Set([node]),
      virtual: true,
      beingDeleted: false,
      deletingDependents: false,
    }
    this.#nodes.set(reference.uid, owner)
    this.#attention.delete(owner)
    return true
  }

  #unlink(node: GraphNode, reference: OwnerReference): void {
    const owner = this.#nodes.get(reference.uid)
    owner?.dependents.delete(node)
    if (owner?.virtual && owner.dependents.size === 0) this.#nodes.delete(reference.uid)
  }

  #attendForeground(node: GraphNode): void {
    for (const dependent of node.dependents) this.#attention.delete(dependent)
    this.#attention.delete(node)
  }
}

const waitedBefore = (previous: PersistedObject | undefined, finalizer: string): boolean =>
  previous !== undefined && waitsFor(previous, finalizer)

/** A reference has to name what its uid belongs to. */
const matches = (
  reference: OwnerReference,
  owner: Pick<GraphNode, 'identity'>,
  dependent: GraphNode,
): boolean =>
  reference.kind === owner.identity.kind &&
  reference.name === owner.identity.name &&
  groupOf(reference.apiVersion) === groupOf(owner.identity.apiVersion) &&
  isReachable(owner, dependent)

/** A cluster-scoped owner is fine from anywhere. */
const isReachable = (
  { identity: { namespace } }: Pick<GraphNode, 'identity'>,
  dependent: GraphNode,
): boolean => namespace === '' || namespace === dependent.identity.namespace
