/**
 * Makes the ResourceClaims that Pods describe by a template, names them in the Pod's status, and removes them when the
 * Pod has ended; keeps account of who uses a claim. Upstream's resourceclaim-controller. The scheduler allocates devices.
 */
import { controllerRefOf } from '#api/controller-ref.js'
import type { NamespacedObject, ObjectMeta } from '#api/object.js'
import { isNamespaceTerminating, messageOf } from '#client/errors.js'
import { keyOf } from '#client/object-store.js'
import type { Pod, PodSpec, PodStatus } from '#client/pod.js'
import { type ResourceClaim, resourceClaimKeys, usedClaimKeys } from '#client/resource-claim.js'
import { resources } from '#client/resources.js'
import { limits } from '#limits'
import {
  type Controller,
  type ControllerContext,
  enqueueOwn,
  newQueue,
  queueRun,
  syncStored,
} from '../controller.js'
import { deleteObject } from '../delete-object.js'
import { ownerReference } from '../ownership/claim.js'
import { ownedBy } from '../ownership/owner-controller.js'
import { enqueuePodOfLostClaim, orTellOf } from '../pods/claims-of-pods.js'
import { isPodDone, lacksReservation, releaseClaim, reserveFor } from './reservations.js'

interface ClaimTemplate extends NamespacedObject {
  spec: { metadata?: ObjectMeta; spec: unknown }
}

const fieldManager = 'ResourceClaimController'
const byClaim = 'resource-claim'
const claimAnnotation = 'resource.kubernetes.io/pod-claim-name'
type PodClaim = NonNullable<PodSpec['resourceClaims']>[number]
type ClaimStatus = NonNullable<PodStatus['resourceClaimStatuses']>[number]

const statusOf = (pod: Pod): ClaimStatus[] => pod.status?.resourceClaimStatuses ?? []
/** Also one that has not been made yet, or that the scheduler has made for extended resources. */
const usesClaims = ({ spec, status }: Pod): boolean =>
  (spec.resourceClaims ?? []).length > 0 || status?.extendedResourceClaimStatus !== undefined
const templated = (pod: Pod): PodClaim[] =>
  (pod.spec.resourceClaims ?? []).filter((claim) => claim.resourceClaimTemplateName !== undefined)
/** Both names are cut in proportion, so that something is left of each. */
const generateNameFor = (pod: string, claim: string): string => {
  const full = `${pod}-${claim}-`
  if (full.length <= limits.claimNameLengthMax) return full
  const part = (text: string): string =>
    text.slice(0, Math.floor((text.length * limits.claimNameLengthMax) / full.length))
  return `${part(pod)}-${part(claim)}`
}

class ClaimMaker {
  readonly #context: ControllerContext
  constructor(context: ControllerContext) {
    this.#context = context
  }
  get #claims() {
    return this.#context.informers.for<ResourceClaim>(resources.resourceClaims)
  }

  async sync(pod: Pod): Promise<void> {
    if (isPodDone(pod)) return this.#removeClaims(pod)
    if (pod.metadata.deletionTimestamp !== undefined) return
    const made: ClaimStatus[] = []
    const recorder = this.#context.recorder('resource_claim')
    for (const claim of templated(pod)) {
      const about = `PodResourceClaim ${claim.name}`
      const resourceClaimName = await orTellOf(
        { recorder, pod, reason: 'FailedResourceClaimCreation', about },
        () => this.#claimFor(pod, claim),
      )
      if (resourceClaimName !== undefined) made.push({ name: claim.name, resourceClaimName })
    }
    const told = new Map(statusOf(pod).map((one) => [one.name, one.resourceClaimName]))
    // All of them: what is left out of what we apply would go.
    if (made.some(({ name, resourceClaimName }) => told.get(name) !== resourceClaimName))
      await this.#tellPod(pod, made)
    for (const key of resourceClaimKeys(pod)) {
      const claim = this.#claims.store.get(key)
      if (claim !== undefined) await reserveFor(this.#context, claim, pod)
    }
  }

  #ownClaims(pod: Pod): ResourceClaim[] {
    return ownedBy<ResourceClaim>(this.#context, pod.metadata, resources.resourceClaims)
  }

  /** Its name; undefined when the Pod needs none. */
  async #claimFor(pod: Pod, claim: PodClaim): Promise<string | undefined> {
    const known = statusOf(pod).find((s) => s.name === claim.name)
    // An entry without a name says that no claim is needed.
    if (known !== undefined && known.resourceClaimName === undefined) return undefined
    // One that was made just before we were killed is not named in the status yet.
    const made = this.#ownClaims(pod).find(
      (c) => c.metadata.annotations?.[claimAnnotation] === claim.name,
    )
    return (made ?? (await this.#make(pod, claim))).metadata.name
  }

  async #make(pod: Pod, claim: PodClaim): Promise<ResourceClaim> {
    const { client, reader } = this.#context
    const { namespace } = pod.metadata
    const templateName = claim.resourceClaimTemplateName!
    const { items } = await reader.list<ClaimTemplate>(resources.resourceClaimTemplates, {
      namespace,
      fieldSelector: `metadata.name=${templateName}`,
    })
    const [template] = items
    if (template === undefined) {
      const name = JSON.stringify(templateName)
      throw new Error(
        `resource claim template ${name}: resourceclaimtemplate.resource.k8s.io ${name} not found`,
      )
    }
    const { blockOwnerDeletion: _none, ...owner } = ownerReference(resources.pods, pod)
    const { metadata } = template.spec
    const wanted = {
      metadata: {
        generateName: generateNameFor(pod.metadata.name, claim.name),
        namespace,
        labels: { ...metadata?.labels },
        annotations: { ...metadata?.annotations, [claimAnnotation]: claim.name },
        ownerReferences: [owner],
      },
      spec: template.spec.spec,
    }
    try {
      const created = await client.create<ResourceClaim>(resources.resourceClaims, wanted)
      this.#claims.observe(created)
      return created
    } catch (error) {
      if (isNamespaceTerminating(error)) throw error
      // Upstream tells the name, which it does not have yet.
      throw new Error(`create ResourceClaim : ${messageOf(error)}`)
    }
  }

  /** Applied, because others write their claims into the same list. */
  async #tellPod(pod: Pod, resourceClaimStatuses: ClaimStatus[]): Promise<void> {
    const { namespace, name, uid } = pod.metadata
    const body = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, namespace, uid },
      status: { resourceClaimStatuses },
    }
    await this.#context.client.patch(resources.pods, { namespace, name }, body, {
      type: 'apply',
      subresource: 'status',
      fieldManager,
      force: true,
    })
  }

  /** When nobody uses them any more: another Pod may name one, too, and the watch may not have shown it yet. */
  async #removeClaims(pod: Pod): Promise<void> {
    for (const claim of this.#ownClaims(pod))
      if (
        claim.metadata.deletionTimestamp === undefined &&
        (claim.status?.reservedFor ?? []).length === 0
      )
        await deleteObject(this.#context, resources.resourceClaims, claim, { unchanged: true })
  }
}

export const resourceClaimController: Controller = {
  name: 'resourceclaim-controller',
  serviceAccount: 'resource-claim-controller',
  start(context) {
    const { informers } = context
    const pods = informers.for<Pod>(resources.pods)
    const claims = informers.for<ResourceClaim>(resources.resourceClaims)
    const maker = new ClaimMaker(context)
    const queue = newQueue(context, 'resource_claim')
    const claimQueue = newQueue(context, 'resource_claim')
    const lookAtClaims = (pod: Pod): void => {
      for (const key of usedClaimKeys(pod)) claimQueue.add(key)
    }
    const look = (pod: Pod): void => {
      if (usesClaims(pod)) queue.add(keyOf(pod))
      if (isPodDone(pod)) lookAtClaims(pod)
    }
    pods.store.addIndex(byClaim, usedClaimKeys)
    // A claim may be seen after its Pod has come to its node, or has ended.
    const lookAtPods = (claim: ResourceClaim): void => {
      for (const pod of pods.store.byIndex(byClaim, keyOf(claim)))
        if (lacksReservation(claim, pod)) queue.add(keyOf(pod))
      const owner = controllerRefOf(claim)
      if (owner?.kind !== 'Pod') return
      const pod = pods.store.get(`${claim.metadata.namespace}/${owner.name}`)
      if (pod?.metadata.uid === owner.uid && isPodDone(pod)) queue.add(keyOf(pod))
    }
    pods.handle({ onAdd: look, onUpdate: look, onDelete: lookAtClaims })
    claims.handle({ onAdd: lookAtPods, onUpdate: lookAtPods })
    enqueuePodOfLostClaim(claims, queue)
    enqueueOwn(claims, claimQueue)
    const makes = queueRun(
      context,
      queue,
      syncStored(pods, (pod) => maker.sync(pod)),
    )
    const releases = queueRun(
      context,
      claimQueue,
      syncStored(claims, (claim) => releaseClaim(context, claim)),
    )
    return async (signal) => {
      await Promise.all([makes(signal), releases(signal)])
    }
  },
}
