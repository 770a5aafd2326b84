/** A valid object of each kind that is swept, out of the samples that every kind's tests use. */
import { kinds } from '#kinds/index.js'
import type { Api, Resource } from './api-documents.js'
import type { Sweep } from './sweep.js'

export interface Subject {
  readonly resource: Resource
  readonly name: string
  readonly url: string
  readonly body: { readonly apiVersion: string; readonly kind: string; readonly metadata: object }
}

interface Metadata {
  readonly name: string
  readonly namespace?: string
}

const subjectOf = (resource: Resource): Subject | undefined => {
  const [group, kind, version] = resource.name.split('/')
  const definition = kinds.find(
    (one) =>
      (one.group ?? '') === group &&
      one.kind === kind &&
      (version === undefined || one.version === version),
  )
  if (!definition?.sample) return undefined
  const { apiVersion, collection } = resource
  const sample = structuredClone(definition.sample) as { metadata?: Partial<Metadata> }
  const { namespace: _, ...metadata }: Metadata = { name: 'swept', ...sample.metadata }
  const url = `${collection}/${metadata.name}`
  return {
    resource,
    name: metadata.name,
    url,
    body: { apiVersion, kind: resource.kind, ...sample, metadata },
  }
}

export const subjectsOf = (api: Api, { kinds: wanted }: Sweep): Subject[] =>
  api.resources.flatMap((resource) => {
    const subject = wanted.test(resource.name) ? subjectOf(resource) : undefined
    return subject ?? []
  })

const isNamespace = /^\/api\/v1\/namespaces\/[^/]+$/

export const remove = async (sweep: Sweep, url: string): Promise<void> => {
  await sweep.prepare({ method: 'DELETE', path: `${url}?gracePeriodSeconds=0` })
  await sweep.prepare({
    method: 'PATCH',
    path: url,
    body: { metadata: { finalizers: null } },
    headers: { 'content-type': 'application/merge-patch+json' },
  })
  if (isNamespace.test(url))
    await sweep.prepare({
      method: 'PUT',
      path: `${url}/finalize`,
      body: { metadata: { name: url.split('/').at(-1) }, spec: { finalizers: [] } },
    })
}

/** The object is there on both servers while the work is done. */
export const withStored = async (
  sweep: Sweep,
  { resource, url, body }: Subject,
  work: () => Promise<void>,
): Promise<void> => {
  await remove(sweep, url)
  const { server, against } = await sweep.prepare({
    method: 'POST',
    path: resource.collection,
    body,
  })
  if (server.code === 201 && against.code === 201) await work()
  else
    sweep.note(
      {
        where: `create ${resource.name}`,
        request: { method: 'POST', path: resource.collection, body },
      },
      { server, against },
    )
  await remove(sweep, url)
}
