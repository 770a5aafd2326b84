/** What an admission plugin is, and what plugins read (apiserver, pkg/admission). */
import { ApiError, forbidden } from '#api/errors.js'
import type { GroupResource } from '#api/group-version.js'
import type { KubeObject } from '#api/object.js'
import type { AdmissionAttributes, AdmissionOperation } from '#registry/admission.js'
import { internalContext } from '#registry/internal-context.js'
import type { RequestContext } from '#registry/resource-definition.js'

/** Both hooks throw an ApiError to refuse. `mutate` may change `attributes.object` in place. */
export interface AdmissionPlugin {
  /** As --disable-admission-plugins takes it. */
  readonly name: string
  /** Plural names of the only resources that it looks at, in any group; missing: it looks at all. */
  readonly resources?: readonly string[]
  mutate?(attributes: AdmissionAttributes): void | Promise<void>
  validate?(attributes: AdmissionAttributes): void | Promise<void>
}

/** Whether the request is about this resource; `subresource` is the main one when left out. */
export const isAbout = (
  { resource, subresource, operation }: AdmissionAttributes,
  wanted: GroupResource & { subresource?: string; operations: readonly AdmissionOperation[] },
): boolean =>
  resource.resource === wanted.resource &&
  resource.group === wanted.group &&
  subresource === (wanted.subresource ?? '') &&
  wanted.operations.includes(operation)

const pods = { group: '', resource: 'pods' }
export const isPodCreate = (attributes: AdmissionAttributes): boolean =>
  isAbout(attributes, { ...pods, operations: ['CREATE'] })

/** The refusal in upstream's form: `pods "a" is forbidden: why`. */
export const refuse = (attributes: AdmissionAttributes, why: string): ApiError =>
  forbidden(attributes.resource, attributes.name || nameOf(attributes.object), why)

const nameOf = (object: KubeObject | undefined): string => object?.metadata?.name ?? ''

/** Another object, as it is stored; undefined when there is none. */
export const findObject = async (
  ctx: RequestContext,
  resource: GroupResource,
  { name, namespace }: { name: string; namespace?: string },
): Promise<KubeObject | undefined> => {
  const store = ctx.stores(resource)
  if (store === undefined) return undefined
  try {
    return (await store.get(internalContext(ctx, namespace), name)).object
  } catch (error) {
    // A name that no object can have is one that is not there: upstream's plugins ask a lister.
    if (error instanceof ApiError && (error.code === 404 || error.code === 400)) return undefined
    throw error
  }
}

/** All objects of a resource, of one namespace when it is named, in the order of their names. */
export const listObjects = async (
  ctx: RequestContext,
  resource: GroupResource,
  namespace?: string,
): Promise<KubeObject[]> => {
  const store = ctx.stores(resource)
  if (store === undefined) return []
  const { storagePrefix } = store.definition
  const page = await store.list(internalContext(ctx, namespace), {
    selection: {
      prefix: namespace === undefined ? `${storagePrefix}/` : `${storagePrefix}/${namespace}/`,
    },
    consistency: { kind: 'consistent' },
    limit: 0,
  })
  return page.items.map((item) => item.object)
}

/** The class that is the default of its kind: the newest one that says so, then the first by name. */
export const newestDefault = (
  classes: readonly KubeObject[],
  annotations: readonly string[],
): KubeObject | undefined => {
  const isDefault = (o: KubeObject): boolean =>
    annotations.some((key) => o.metadata.annotations?.[key] === 'true')
  const created = (o: KubeObject): string => o.metadata.creationTimestamp ?? ''
  return classes
    .filter(isDefault)
    .sort((a, b) =>
      created(a) === created(b)
        ? (a.metadata.name ?? '') < (b.metadata.name ?? '')
          ? -1
          : 1
        : created(a) < created(b)
          ? 1
          : -1,
    )[0]
}
