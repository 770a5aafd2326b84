/**
 * The generic store: create, get, list, watch, update and delete of one resource. All are made by make-store.ts; what
 * differs is the ResourceDefinition. Mirrors upstream's pkg/registry/generic/registry/store.go.
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
  /** Revision of the newest change known here; undefined where only a read can tell. */
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
  /**
   * Waits, as a watch with initial events has to before it begins, for a revision that upstream's cache would wait for;
   * undefined where there is nothing to wait for. Throws StorageError FutureRevision.
   */
  whenReached(revision: number): Promise<void> | undefined
  /** Why a watch cannot begin now, if so. */
  notReady(): ApiError | undefined | Promise<ApiError | undefined>
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
    change: Change,
    options?: UpdateOptions,
  ): Promise<{ stored: StoredObject; created: boolean }>
  delete(ctx: RequestContext, name: string, options: DeleteOptions): Promise<Deleted>
  /** A delete without admission, for an eviction, which was admitted itself. */
  deleteAdmitted(ctx: RequestContext, name: string, options: DeleteOptions): Promise<Deleted>
  /**
   * A change that the server itself makes, without validation. `change` gets a private copy and runs again after a
   * conflict. Nothing is written in a dry run, or when nothing changed.
   */
  changeStored(
    ctx: RequestContext,
    name: string,
    change: (copy: KubeObject, current: StoredObject) => void | Promise<void>,
  ): Promise<StoredObject>
  /**
   * Admission of a posted object that is not stored: reviews, bindings, evictions. May change `object`. Yields validating
   * admission, which upstream runs after the object has passed its own validation.
   */
  admitCreate(ctx: RequestContext, name: string, object: KubeObject): Promise<ValidateAdmission>
  /** Admission of a connection; `options` is PodExecOptions or its like. */
  admitConnect(ctx: RequestContext, name: string, options: KubeObject): Promise<void>
  /** Yields the objects as they were before, of one page or of all. */
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

/** Mutating admission: may change `object`. Without an old object it is that of a create. */
export type AdmitChange = (object: KubeObject, oldObject?: KubeObject) => void | Promise<void>

/**
 * Makes the next object from the stored one. What it makes is admitted afterwards, unless clients see another form of it
 * (`admittedAs`): then `change` has that form admitted while it has it.
 */
export type Change = (
  current: KubeObject | undefined,
  admit: AdmitChange,
) => KubeObject | Promise<KubeObject>

export interface UpdateOptions {
  /** Set when `change` itself computed managedFields (server-side apply). */
  readonly managedFieldsTracked?: boolean
  /** Throws forbidden when the user may not create what an update would make. */
  readonly authorizeCreate?: () => void | Promise<void>
  /**
   * Takes the place of the strategy's hooks (subresources that check their parent in a way of their own, changes that the
   * server itself makes).
   */
  readonly hooks?: UpdateStrategy
  /** Creates when there is nothing (PUT of kinds that allow it, server-side apply). */
  readonly forceAllowCreate?: boolean
  /** Preconditions besides the resourceVersion in the object. */
  readonly preconditions?: { uid?: string; resourceVersion?: string }
  /** The form that admission sees instead of the object (a Scale); `change` itself has it admitted for mutation. */
  readonly admittedAs?: Required<Subresource>['read']
}
