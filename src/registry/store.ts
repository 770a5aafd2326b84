/**
 * The generic store: create, get, list, watch, update, patch and delete of one resource. One class for every
 * resource; what differs is its ResourceDefinition. Mirrors upstream's pkg/registry/generic/registry/store.go.
 */
import type { ApiError } from '#api/errors.js'
import type { KubeObject } from '#api/object.js'
import type {
  ListOptions,
  ListPage,
  ObjectEventBatch,
  ObjectWatchOptions,
  ReadConsistency,
  StateAtHand,
  StoredObject,
} from '#cacher/object-storage.js'
import type {
  Deleted,
  DeleteOptions,
  RequestContext,
  ResourceDefinition,
  Subresource,
  UpdateStrategy,
  ValidateAdmission,
} from './resource-definition.js'

export interface Store {
  readonly definition: ResourceDefinition
  /** Reads that need not wait; undefined where a consistent read must ask the store first. */
  readonly atHand?: StateAtHand
  /** Revision of the newest change known here; undefined where only reading tells. */
  readonly lastChange?: () => number
  key(namespace: string | undefined, name: string): string
  /** Throws notFound. A promise only where it has to wait. */
  get(
    ctx: RequestContext,
    name: string,
    consistency?: ReadConsistency,
  ): StoredObject | Promise<StoredObject>
  /** A promise only where it has to wait. */
  list(options: ListOptions): ListPage | Promise<ListPage>
  watch(options: ObjectWatchOptions): AsyncIterable<ObjectEventBatch>
  /** Why a watch cannot begin now, if so. */
  notReady(): ApiError | undefined
  /** `object` in the storage version, decoded and defaulted, private to the store from here on. */
  create(ctx: RequestContext, object: KubeObject): Promise<StoredObject>
  /**
   * Reads, lets `change` make the next object from the stored one, and writes it with compare-and-swap; on a conflict
   * it does so again, unless what `change` made carries a resourceVersion. Removes the object when its last finalizer went
   * (apiserver, store.go deleteWithoutFinalizers). `created` is true for a create on update.
   */
  update(
    ctx: RequestContext,
    name: string,
    change: (current: KubeObject | undefined) => KubeObject | Promise<KubeObject>,
    options?: UpdateOptions,
  ): Promise<{ stored: StoredObject; created: boolean }>
  delete(ctx: RequestContext, name: string, options: DeleteOptions): Promise<Deleted>
  /** The delete that follows from what was admitted already, an eviction: nobody is asked again. */
  deleteAdmitted(ctx: RequestContext, name: string, options: DeleteOptions): Promise<Deleted>
  /**
   * A change that the server makes by itself, without validation: `change` gets a private copy. Nothing is written under
   * dry run, or when nothing changed. On a conflict `change` runs again.
   */
  changeStored(
    ctx: RequestContext,
    name: string,
    change: (copy: KubeObject, current: StoredObject) => void | Promise<void>,
  ): Promise<StoredObject>
  /**
   * Admission of what is posted and not stored: reviews, bindings, evictions. May change `object`; yields the plugins
   * that only validate, which upstream asks once the request holds by itself.
   */
  admitCreate(ctx: RequestContext, name: string, object: KubeObject): Promise<ValidateAdmission>
  /** Admission of a connection, by what was asked of it: PodExecOptions. */
  admitConnect(ctx: RequestContext, name: string, options: KubeObject): Promise<void>
  /** Yields the objects as they were before: of one page, or of all. */
  deleteCollection(
    ctx: RequestContext,
    options: DeleteOptions,
    list: ListOptions & { readonly isOnePage: boolean },
  ): Promise<ListPage>
}

/** What a strategy's own delete works with: the steps that the generic delete is made of. */
export interface DeletableStore {
  readonly definition: ResourceDefinition
  /** Throws notFound. */
  get(ctx: RequestContext, name: string): StoredObject | Promise<StoredObject>
  /** Runs DELETE admission on what is stored. */
  admitDelete(ctx: RequestContext, current: StoredObject, options: DeleteOptions): Promise<void>
  changeStored: Store['changeStored']
  /** The generic delete, without the strategy's own. */
  deleteGenerically(ctx: RequestContext, name: string, options: DeleteOptions): Promise<Deleted>
}

export interface UpdateOptions {
  /** Set when `change` itself computed managedFields (server-side apply). */
  readonly managedFieldsTracked?: boolean
  /** Throws forbidden when the user may not create what an update would make. */
  readonly authorizeCreate?: () => void | Promise<void>
  /** Takes the place of the strategy's hooks (subresources that check their parent in a way of their own). */
  readonly hooks?: UpdateStrategy
  /** Creates when there is nothing (PUT of kinds that allow it, server-side apply). */
  readonly forceAllowCreate?: boolean
  /** Preconditions beside the resourceVersion in the object. */
  readonly preconditions?: { uid?: string; resourceVersion?: string }
  /** The hooks to use; default by ctx.subresource. */
  readonly strategy?: 'main' | 'status' | 'none'
  /** What admission sees in place of the object, a Scale, and how that is written into the object when it was changed. */
  readonly admittedAs?: Required<Pick<Subresource, 'read' | 'write'>>
}
