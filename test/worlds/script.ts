/** What is done to a namespace of two clusters alike: steps, after each of which everything settles. */
import type { PersistedObject } from '#api/object.js'
import type { Client, DeleteRequestOptions } from '#client/client.js'
import type { Pod } from '#client/pod.js'
import { type ResourceRef, resources } from '#client/resources.js'
import type { PretendNodes } from './pretend-nodes.js'

export interface Place {
  readonly client: Client
  readonly namespace: string
  readonly nodes: PretendNodes
  /** Of what the script has made, by kind and name: the uid that it has or had. */
  readonly uids: Map<string, string>
}
/** Fails as the server answers. */
export type Act = (place: Place) => Promise<unknown>
export interface Step {
  readonly name: string
  readonly acts: readonly Act[]
  /** How long nothing changes before all that follows from it has come; else a few seconds. */
  readonly quietMs?: number
}

export const step = (name: string, ...acts: Act[]): Step => ({ name, acts })
export const slowly = (known: Step, quietMs: number): Step => ({ ...known, quietMs })

// biome-ignore lint/suspicious/noExplicitAny: scripts write any field
type Body = Record<string, any>

/** What has no namespace is named after that of its script. */
export const nameIn = ({ namespace }: Place, ref: ResourceRef, name: string): string =>
  ref.namespaced ? name : `${namespace}-${name}`
const at = (place: Place, ref: ResourceRef, name: string) => ({
  namespace: place.namespace,
  name: nameIn(place, ref, name),
})

export const create =
  (ref: ResourceRef, object: Body): Act =>
  async (place) => {
    const { name } = object.metadata
    const metadata = { ...object.metadata, name: nameIn(place, ref, name) }
    const made = await place.client.create(ref, { ...object, metadata }, place)
    place.uids.set(`${ref.kind}/${name}`, made.metadata.uid)
  }

export const change =
  (ref: ResourceRef, name: string, patch: Body): Act =>
  (place) =>
    place.client.patch(ref, at(place, ref, name), patch, { type: 'merge' })

export const remove =
  (ref: ResourceRef, name: string, options: DeleteRequestOptions = {}): Act =>
  (place) =>
    place.client.delete(ref, at(place, ref, name), options)

/** A finalizer that no controller takes away. */
export const holder = 'example.com/hold'
export const isHeld = ({ metadata }: PersistedObject): boolean =>
  metadata.finalizers?.includes(holder) ?? false

/** What may happen to one Pod. */
const deeds = {
  delete: ({ client }, at) => client.delete(resources.pods, at),
  force: ({ client }, at) => client.delete(resources.pods, at, { gracePeriodSeconds: 0 }),
  evict: ({ client, namespace }, { name }) =>
    client.request({
      method: 'POST',
      path: `/api/v1/namespaces/${namespace}/pods/${name}/eviction`,
      body: { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name } },
    }),
  release: ({ client }, at) =>
    client.patch(
      resources.pods,
      at,
      { metadata: { labels: { app: 'released' } } },
      { type: 'merge' },
    ),
  cheapen: ({ client }, at) =>
    client.patch(
      resources.pods,
      at,
      { metadata: { annotations: { 'controller.kubernetes.io/pod-deletion-cost': '-5' } } },
      { type: 'merge' },
    ),
  hold: ({ client }, at) =>
    client.patch(resources.pods, at, { metadata: { finalizers: [holder] } }, { type: 'merge' }),
  fail: ({ client }, at) =>
    client.patch(
      resources.pods,
      at,
      { status: { phase: 'Failed', reason: 'Evicted', message: 'no room' } },
      { type: 'merge', subresource: 'status' },
    ),
  unready: ({ client }, at) =>
    client.patch(
      resources.pods,
      at,
      {
        status: {
          conditions: [
            { type: 'Ready', status: 'False', lastTransitionTime: new Date().toISOString() },
          ],
        },
      },
      { type: 'strategic', subresource: 'status' },
    ),
} satisfies Record<
  string,
  (place: Place, at: { namespace: string; name: string }) => Promise<unknown>
>
type Deed = keyof typeof deeds
export const toAnyPod: readonly Deed[] = ['delete', 'force', 'release', 'evict', 'unready', 'fail']

/** To the oldest Pod of the app that nobody has asked to go. */
export const toPod =
  (app: string, deed: Deed): Act =>
  async (place) => {
    const { client, namespace } = place
    const { items } = await client.list<Pod>(resources.pods, {
      namespace,
      labelSelector: `app=${app}`,
    })
    const order = ({ metadata }: Pod): string => `${metadata.creationTimestamp}${metadata.name}`
    const [oldest] = items
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
      .sort((a, b) => (order(a) < order(b) ? -1 : 1))
    if (oldest !== undefined) await deeds[deed](place, { namespace, name: oldest.metadata.name })
  }
