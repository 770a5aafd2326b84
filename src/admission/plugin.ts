/** The interface of admission plugins, and what they share (apiserver, pkg/admission). */
import { ApiError, forbidden, notFound } from '#api/errors.js'
import type { GroupResource } from '#api/group-version.js'
import type { KubeObject } from '#api/object.js'
import type {
  AdmissionAttributes,
  AdmissionOperation,
  AttributesOf,
  WriteAttributes,
} from '#registry/admission.js'
import { internalContext } from '#registry/internal-context.js'
import { listAll } from '#registry/list-all.js'
import type { RequestContext } from '#registry/resource-definition.js'
import type { Store } from '#registry/store.js'

/** Both hooks throw an ApiError to refuse, and yield a promise only where they have to wait. `mutate` may change `attributes.object` in place. */
export interface AdmissionPlugin {
  /** Its name in --disable-admission-plugins. */
  readonly name: string
  /** Plural names of the resources that it looks at, in any group. Missing: all. */
  readonly resources?: readonly string[]
  mutate?(attributes: AdmissionAttributes): void | Promise<void>
  validate?(attributes: AdmissionAttributes): void | Promise<void>
}

/** Whether the request is about this resource; `subresource` is the main one when left out. */
export const isAbout = <const O extends AdmissionOperation>(
  attributes: AdmissionAttributes,
  wanted: GroupResource & { subresource?: string; operations: readonly O[] },
): attributes is AttributesOf<O> =>
  attributes.resource.resource === wanted.resource &&
  attributes.resource.group === wanted.group &&
  attributes.subresource === (wanted.subresource ?? '') &&
  (wanted.operations as readonly AdmissionOperation[]).includes(attributes.operation)

export const isWrite = (attributes: AdmissionAttributes): attributes is WriteAttributes =>
  attributes.operation === 'CREATE' || attributes.operation === 'UPDATE'

export const isPodCreate = (
  attributes: AdmissionAttributes,
): attributes is AttributesOf<'CREATE'> =>
  attributes.operation === 'CREATE' &&
  attributes.resource.resource === 'pods' &&
  attributes.resource.group === '' &&
  attributes.subresource === ''

export const podWrites = {
  group: '',
  resource: 'pods',
  operations: ['CREATE', 'UPDATE'],
} as const

export const podResizes = {
  group: '',
  resource: 'pods',
  subresource: 'resize',
  operations: ['UPDATE'],
} as const

export const namespaces = { group: '', resource: 'namespaces' }

/** Whether the request is about a Namespace itself: it carries its name as its namespace, too. */
export const isAboutNamespace = ({ resource }: AdmissionAttributes): boolean =>
  resource.resource === 'namespaces' && resource.group === ''

/**
 * The name in a refusal: generateName if there is no name yet, none for objects of a collection (apiserver,
 * pkg/admission/errors.go).
 */
export const refusedName = ({ name, object }: AdmissionAttributes): string => {
  if (name !== '') return name
  const { name: own, generateName } = object?.metadata ?? {}
  return own || generateName || 'Unknown'
}

/** The refusal in upstream's form: `pods "a" is forbidden: why`. */
export const refuse = (attributes: AdmissionAttributes, why: string): ApiError =>
  forbidden(attributes.resource, refusedName(attributes), why)

const keyOf = (
  prefix: string,
  { name, namespace }: { name: string; namespace?: string },
): string => (namespace === undefined ? `${prefix}/${name}` : `${prefix}/${namespace}/${name}`)

/** Another stored object; undefined if there is none. Usually synchronous, since every write looks up several. */
export const findObject = (
  ctx: RequestContext,
  resource: GroupResource,
  named: { name: string; namespace?: string },
): KubeObject | undefined | Promise<KubeObject | undefined> => {
  const store = ctx.stores(resource)
  return store?.atHand === undefined
    ? readObject(ctx, store, named)
    : store.atHand.get(keyOf(store.definition.storagePrefix, named))?.object
}

/** The namespace that the request is in. */
export const findNamespace = ({
  ctx,
  namespace,
}: AdmissionAttributes): KubeObject | undefined | Promise<KubeObject | undefined> =>
  findObject(ctx, namespaces, { name: namespace })

/** Throws a 404 if it is gone: its objects may have stayed behind. */
export const existingNamespace = async (attributes: AdmissionAttributes): Promise<KubeObject> => {
  const found = await findNamespace(attributes)
  if (found === undefined) throw notFound(namespaces, attributes.namespace)
  return found
}

const readObject = async (
  ctx: RequestContext,
  store: Store | undefined,
  { name, namespace }: { name: string; namespace?: string },
): Promise<KubeObject | undefined> => {
  if (store === undefined) return undefined
  try {
    return (await store.get(internalContext(ctx, namespace), name)).object
  } catch (error) {
    // An invalid name is treated as not found, as by upstream's listers.
    if (error instanceof ApiError && (error.code === 404 || error.code === 400)) return undefined
    throw error
  }
}

/** All objects of a resource, of one namespace when it is named, in the order of their names. */
export const listObjects = (
  ctx: RequestContext,
  resource: GroupResource,
  namespace?: string,
): readonly KubeObject[] | Promise<readonly KubeObject[]> => {
  const store = ctx.stores(resource)
  if (store === undefined) return none
  const prefix = keyOf(store.definition.storagePrefix, { name: '', namespace })
  if (store.atHand === undefined) return readObjects(store, namespace)
  const items = store.atHand.list(prefix)
  return items.length === 0 ? none : items.map((item) => item.object)
}

const none: readonly KubeObject[] = []

const readObjects = async (
  store: Store,
  namespace: string | undefined,
): Promise<readonly KubeObject[]> =>
  (await listAll(store, namespace)).items.map(({ object }) => object)
