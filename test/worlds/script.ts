/** What is done to a namespace of two clusters alike: steps, after each of which everything settles. */
import type { Client, DeleteRequestOptions } from '#client/client.js'
import type { Pod } from '#client/pod.js'
import { type ResourceRef, resources } from '#client/resources.js'

export interface Place {
  readonly client: Client
  readonly namespace: string
}
/** Fails as the server answers. */
type Act = (place: Place) => Promise<unknown>
export interface Step {
  readonly name: string
  readonly acts: readonly Act[]
}

export const step = (name: string, ...acts: Act[]): Step => ({ name, acts })

// biome-ignore lint/suspicious/noExplicitAny: scripts write any field
type Body = Record<string, any>

export const create =
  (ref: ResourceRef, object: Body): Act =>
  ({ client, namespace }) =>
    client.create(ref, object, { namespace })

export const change =
  (ref: ResourceRef, name: string, patch: Body): Act =>
  ({ client, namespace }) =>
    client.patch(ref, { namespace, name }, patch, { type: 'merge' })

export const remove =
  (ref: ResourceRef, name: string, options: DeleteRequestOptions = {}): Act =>
  ({ client, namespace }) =>
    client.delete(ref, { namespace, name }, options)

const holder = 'example.com/hold'
export const isHeld = ({ metadata }: Pod): boolean => metadata.finalizers?.includes(holder) ?? false

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
