/** ControllerRevisions: the templates that a StatefulSet or DaemonSet has had, in order. */

import type { LabelSelector } from '#api/label-selector.js'
import type { NamespacedObject, PersistedObject } from '#api/object.js'
import { isAlreadyExists } from '#client/errors.js'
import { canonicalCopy } from '#client/exact-json.js'
import { type ResourceRef, resources } from '#client/resources.js'
import { jsonEqual } from '#json/object.js'
import { byAge } from '../by-age.js'
import type { ControllerContext } from '../controller.js'
import { deleteObject } from '../delete-object.js'
import { ownerReference } from '../ownership/claim.js'
import { claimOwned } from '../ownership/owner-controller.js'
import { updateObject } from '../update-object.js'
import { revisionHash } from './hash.js'
import type { PodTemplate } from './pod-control.js'

export interface ControllerRevision extends NamespacedObject {
  data: { spec: { template: PodTemplate & { $patch?: string } } }
  revision: number
}
interface Revisioned extends NamespacedObject {
  spec: {
    selector: LabelSelector
    template: PodTemplate
    revisionHistoryLimit?: number
    [field: string]: unknown
  }
  status: { collisionCount?: number; [field: string]: unknown }
}

/** A Pod's label that names its revision: for DaemonSets the hash alone. */
export const revisionLabel = 'controller-revision-hash'

/** Of a Pod, or of the revision of a DaemonSet itself. */
export const revisionOf = ({ metadata }: PersistedObject): string =>
  metadata.labels?.[revisionLabel] ?? ''

/** Canonical, so that bytes and hash are upstream's: their JSON has sorted keys too. */
const dataOf = (owner: Revisioned): ControllerRevision['data'] =>
  canonicalCopy({ spec: { template: { ...owner.spec.template, $patch: 'replace' } } })

export const templateOf = (revision: ControllerRevision): PodTemplate => {
  const { $patch: _patch, ...template } = revision.data.spec.template
  return template
}

const byRevision = (a: ControllerRevision, b: ControllerRevision): number =>
  a.revision - b.revision || byAge(a, b)

export class RevisionHistory {
  readonly #context: ControllerContext
  readonly #ref: ResourceRef
  readonly #hashLabel: string

  /** `hashLabel`: where a revision carries its hash; the kinds have different ones. */
  constructor(context: ControllerContext, ref: ResourceRef, hashLabel: string) {
    this.#context = context
    this.#ref = ref
    this.#hashLabel = hashLabel
  }

  get #informer() {
    return this.#context.informers.for<ControllerRevision>(resources.controllerRevisions)
  }

  /** All revisions of the owner, oldest first. */
  async list(owner: Revisioned): Promise<ControllerRevision[]> {
    const found = await claimOwned<ControllerRevision>(this.#context, owner, {
      ref: this.#ref,
      owned: resources.controllerRevisions,
      selector: owner.spec.selector,
    })
    return found.sort(byRevision)
  }

  /**
   * The revision of the present template. An old one that is wanted again gets the highest number; a new one whose
   * name is taken by other contents takes another name, and `collisionCount` says how often that happened.
   */
  async current(
    owner: Revisioned,
    revisions: readonly ControllerRevision[],
  ): Promise<{ revision: ControllerRevision; collisionCount: number | undefined }> {
    const data = dataOf(owner)
    const next = (revisions.at(-1)?.revision ?? 0) + 1
    let { collisionCount } = owner.status ?? {}
    const known = revisions.filter((r) => jsonEqual(r.data, data)).at(-1)
    if (known !== undefined) {
      if (known === revisions.at(-1)) return { revision: known, collisionCount }
      return { revision: await this.#promote(known, next), collisionCount }
    }
    for (;;) {
      const hash = revisionHash(data, collisionCount)
      const created = await this.#create(owner, data, next, hash)
      if (created !== undefined) return { revision: created, collisionCount }
      collisionCount = (collisionCount ?? 0) + 1
    }
  }

  #promote(revision: ControllerRevision, number: number): Promise<ControllerRevision> {
    const next = { ...revision, revision: number }
    return updateObject(this.#context, resources.controllerRevisions, next)
  }

  /** Undefined when the name belongs to other contents; whose they are does not matter, as the hash is theirs alone. */
  async #create(
    owner: Revisioned,
    data: ControllerRevision['data'],
    revision: number,
    hash: string,
  ): Promise<ControllerRevision | undefined> {
    const { client } = this.#context
    const name = `${owner.metadata.name}-${hash}`
    const { namespace } = owner.metadata
    try {
      const created = await client.create<ControllerRevision>(resources.controllerRevisions, {
        metadata: {
          name,
          namespace,
          annotations: { ...owner.metadata.annotations },
          labels: { ...owner.spec.template.metadata?.labels, [this.#hashLabel]: hash },
          ownerReferences: [ownerReference(this.#ref, owner)],
        },
        data,
        revision,
      })
      this.#informer.observe(created)
      return created
    } catch (error) {
      if (!isAlreadyExists(error)) throw error
      const taken = await client.get<ControllerRevision>(resources.controllerRevisions, {
        namespace,
        name,
      })
      this.#informer.observe(taken)
      return jsonEqual(taken.data, data) ? taken : undefined
    }
  }

  /** Removes what nobody uses beyond the limit, oldest first; `count` revisions are held against the limit. */
  async truncate(
    owner: Revisioned,
    idle: readonly ControllerRevision[],
    count: number,
  ): Promise<void> {
    const surplus = count - (owner.spec.revisionHistoryLimit ?? 10)
    for (const revision of idle.slice(0, Math.max(0, surplus)))
      await deleteObject(this.#context, resources.controllerRevisions, revision)
  }
}
