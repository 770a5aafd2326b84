/**
 * A row of the resource table: all that is particular to one resource, built-in or custom, as data.
 * The registry, the installer, discovery, OpenAPI and tables read it; none of them knows a kind by name.
 */
import type { AuditTrail } from '#api/audit-trail.js'
import type { FieldError } from '#api/field-error.js'
import type { GroupVersionKind, GroupVersionResource } from '#api/group-version.js'
import type { KubeObject } from '#api/object.js'
import type { UserInfo } from '#api/user-info.js'
import type { StoredObject } from '#cacher/object-storage.js'
import type { Int64 } from '#json/int64.js'
import type { JsonObject } from '#json/value.js'
import type { DeletableStore, Store } from './store.js'

export type Verb =
  | 'create'
  | 'delete'
  | 'deletecollection'
  | 'get'
  | 'list'
  | 'patch'
  | 'update'
  | 'watch'

interface Caller {
  readonly signal: AbortSignal
  /** Missing: the server itself, which waits as long as it takes. */
  timeLeftMs?(): number
}

/** What strategy hooks know of the request. */
export interface RequestContext {
  readonly user: UserInfo
  /** As authorizers see it; empty where the server acts itself. */
  readonly verb: string
  readonly namespace: string | undefined
  /** Empty for the main resource, else `status`, `scale`, … */
  readonly subresource: string
  readonly dryRun: boolean
  /** Milliseconds since the epoch at the start of the request. */
  readonly now: number
  /**
   * The client that waits for the answer; `signal` fires when it has gone. (An object, because `signal` is a getter,
   * which copying the context would call.)
   */
  readonly caller: Caller
  /** Adds a `Warning: 299` header to the answer, once per text. */
  warn(text: string): void
  /** Where to note things for the audit log; undefined if this request is not audited. */
  readonly audit?: AuditTrail | undefined
  /** The user agent's first word, and the `fieldManager` parameter, for managedFields. */
  readonly userAgent: string
  readonly fieldManager: string
  /** As it was sent, for admission; empty when it was not. */
  readonly fieldValidation: string
  /**
   * Set for each object of a collection delete. Admission then sees no name. `decided` is called when nothing but the
   * write is left.
   */
  readonly inCollection?: { decided(): void }
  /** The kind of the request's body where a subresource has one of its own (Scale, Eviction); for admission. */
  readonly kind?: GroupVersionKind
  /** Other resources, for the few kinds that need them (Services allocate, Namespaces guard). */
  readonly stores: (gvr: { group: string; resource: string }) => Store | undefined
}

/** Options of one delete, after decoding and validation. */
export interface DeleteOptions {
  gracePeriodSeconds?: Int64
  propagationPolicy?: string
  orphanDependents?: boolean
  dryRun?: string[]
  preconditions?: { uid?: string; resourceVersion?: string }
  ignoreStoreReadErrorWithClusterBreakingPotential?: boolean
}

/** What became of a delete. */
export interface Deleted {
  stored: StoredObject
  /** False when finalizers or grace keep the object. */
  deleted: boolean
  /** The uid of the deleted object. Most answers show no more of it, so that it need not be decoded. */
  uid?: string | undefined
  /** `stored` is the answer, where other deletes of its kind answer a Status. */
  isAnswer?: true
}

/** A reservation is committed once the object is written, and reverted when it was not (refused, dry run, no change). */
export interface Reservation {
  commit?(): void | Promise<void>
  revert?(): void | Promise<void>
}

/**
 * Which errors in metadata an update reports again, before the kind's own errors: `change` those of changes, `create`
 * those that create finds, `full` both in this order, `createFirst` both in the other, `none` nothing. `placed`:
 * validateUpdate puts them among its own.
 */
export type MetadataRevalidation = 'none' | 'change' | 'create' | 'full' | 'createFirst' | 'placed'

/** The checks of metadata that a kind's validateUpdate may repeat, where upstream's does. */
export interface MetadataChecks {
  change(): FieldError[]
  create(): FieldError[]
}

/**
 * What a kind decides for itself; a hook that is missing does nothing. Order on create: default, prepareForCreate,
 * (mutating admission), validate, (validating admission), canonicalize. Objects given to `default`, `prepare…` and
 * `canonicalize` are private copies and may be changed; all others may not. A part that a patch left alone is shared with
 * the stored object, unless the kind has `beginUpdate` or `canonicalize`: what is as it should be must not be changed.
 */
export interface Strategy {
  /** Writes the defaults that the schema cannot express. Runs on every decoded body, except after a patch of nothing but metadata. */
  default?(object: KubeObject): void
  /** True when `default` writes metadata as well. */
  readonly defaultsMetadata?: boolean
  /** Removes fields of features that are off, before prepareFor…; field owners, computed earlier, keep them. */
  dropDisabled?(object: KubeObject): void
  /** Where nothing may be created (custom resources whose definition ends): the refusal, before any admission. */
  refuseCreate?(name: string): Error
  prepareForCreate?(object: KubeObject, ctx: RequestContext): void
  validate?(object: KubeObject, ctx: RequestContext): FieldError[]
  /** What `validate` finds in a kind that looks at other fields before its metadata. */
  validateBeforeMetadata?(object: KubeObject): FieldError[]
  warningsOnCreate?(object: KubeObject, ctx: RequestContext): string[]
  prepareForUpdate?(next: KubeObject, previous: KubeObject, ctx: RequestContext): void
  validateUpdate?(
    next: KubeObject,
    previous: KubeObject,
    ctx: RequestContext,
    metadata: MetadataChecks,
  ): FieldError[]
  warningsOnUpdate?(next: KubeObject, previous: KubeObject, ctx: RequestContext): string[]
  /** Completes the empty object of this kind where upstream's internal form has a number and the API a pointer or an annotation. */
  completeEmpty?(object: JsonObject): void
  /** Sorts or normalises what is stored, after validation. */
  canonicalize?(object: KubeObject): void
  /** Completes what an older kube-apiserver stored, after `default` (upstream's Decorator). */
  completeStored?(object: KubeObject): void
  /**
   * Whether upstream stores a new object like this one without something that its decoder fills in on every read. Its
   * first update is then a write even if it changes nothing (etcd3 store.go compares stored bytes).
   */
  isFilledOnRead?(object: KubeObject): boolean
  /** True when the object is to end gracefully; may set options.gracePeriodSeconds. Of upstream's kinds only Pods have it. */
  checkGracefulDelete?(object: KubeObject, options: DeleteOptions): boolean
  /** What a delete without a policy does with dependents; `unsupported` never touches GC finalizers. */
  readonly defaultGarbageCollection?: 'orphan' | 'unsupported'
  /** A warning on deletes without a policy (Jobs). */
  readonly defaultGarbageCollectionWarning?: string
  /** Answers a POST without storing anything (reviews). The result is the answer's body. */
  createInstead?(
    request: { body: KubeObject; store: Store; admit: ValidateAdmission },
    ctx: RequestContext,
  ): Promise<KubeObject | JsonObject>
  readonly allowCreateOnUpdate?: boolean
  /** False: a PUT must carry a resourceVersion. Default true. */
  readonly allowUnconditionalUpdate?: boolean
  /** Whether and when metadata.generation grows. Default: with the spec, if the kind has one. */
  readonly generation?: 'none' | ((next: KubeObject, previous: KubeObject) => boolean)
  /** How `metadata.name` is checked, or a prefix of it. Default: a DNS subdomain. Yields upstream's messages. */
  readonly validateName?: (name: string, prefix: boolean, object: KubeObject) => string[]
  /** The name that `metadata.generateName` becomes. Default: five random characters behind it. */
  readonly generateName?: (base: string) => string
  /** How much of the check of metadata this kind's update validation repeats. Default: `full`. */
  readonly metadataRevalidation?: MetadataRevalidation
  /** The same for the status subresource. Default: `change`. */
  readonly statusMetadataRevalidation?: MetadataRevalidation
  /** Whether a finalizer without a domain must be a known one. Default: true for built-in kinds. */
  readonly knownFinalizerNames?: boolean
  /**
   * Reserve outside of the object (ClusterIPs) and write what they got into it. They run before prepareFor… and
   * validation, as upstream's BeginCreate does, so an allocation that fails is the first error. Under a dry run they
   * reserve nothing. beginUpdate runs for the main resource only when it looks at ctx.subresource itself.
   */
  beginCreate?(object: KubeObject, ctx: RequestContext): Promise<Reservation | undefined>
  beginUpdate?(
    next: KubeObject,
    previous: KubeObject,
    ctx: RequestContext,
  ): Promise<Reservation | undefined>
  /** False keeps a terminating object without finalizers (namespaces, while spec.finalizers is not empty). */
  mayBeRemoved?(object: KubeObject): boolean
  /** Deletes in a way of its own (namespaces); `store` does the generic work. */
  delete?(
    request: { name: string; options: DeleteOptions; store: DeletableStore },
    ctx: RequestContext,
  ): Promise<Deleted>
  /** Runs when the object has really left the store. */
  afterDelete?(object: KubeObject, ctx: RequestContext): void | Promise<void>
  /** The hooks of the status subresource; missing ones copy everything but status from the stored object. */
  readonly status?: Pick<Strategy, 'prepareForUpdate' | 'validateUpdate' | 'warningsOnUpdate'>
}

/** The hooks of a strategy that an update calls. */
export type UpdateStrategy = Pick<
  Strategy,
  'prepareForUpdate' | 'validateUpdate' | 'warningsOnUpdate' | 'metadataRevalidation'
>

/** Runs validating admission on a posted body. Call it once, after the body has passed its own validation. */
export type ValidateAdmission = () => void | Promise<void>

/** A subresource that is not plain `status`. Handlers answer with an object or throw an ApiError. */
export interface Subresource {
  readonly name: string
  readonly kind: GroupVersionKind
  readonly verbs: readonly Verb[]
  /**
   * `view`: GET, PUT and PATCH on another form of the parent (scale, ephemeralcontainers, resize, finalize, approval);
   * `create`: POST makes something (binding, eviction, token); `connect`: proxied to a node (exec, log, attach, …).
   */
  readonly style: 'view' | 'create' | 'connect'
  /** Other apiVersions that a body of `kind` may come in. */
  readonly acceptedApiVersions?: readonly string[]
  /** view: what GET shows of the stored parent. Missing: the parent itself. */
  read?(parent: KubeObject): KubeObject
  /** view: its table, if that is not the parent's. */
  readonly table?: Pick<ResourceDefinition, 'columns' | 'cells'>
  /** view: what a PUT or PATCH starts from, if that is not what GET shows. */
  readForWrite?(parent: KubeObject): KubeObject
  /** view: why a GET of this parent cannot be answered, though it can be written. */
  refuseRead?(parent: KubeObject): Error | undefined
  /** view: the parent after the subresource was written; a private copy of the parent is passed. Throws ApiError. */
  write?(parent: KubeObject, next: KubeObject, ctx: RequestContext): KubeObject
  /** view: as for the main resource, whose value is the default. */
  readonly metadataRevalidation?: MetadataRevalidation
  /** view: errors of the new parent. */
  readonly validateUpdate?: UpdateStrategy['validateUpdate']
  /** Defaults of the body, written when it was decoded. */
  default?(body: KubeObject): void
  /** create: does it. `store` is the parent's. */
  create?(
    request: { name: string; body: KubeObject; store: Store; admit: ValidateAdmission },
    ctx: RequestContext,
  ): Promise<{ code: number; object: KubeObject | JsonObject }>
}

export interface TableColumn {
  name: string
  type: 'string' | 'integer' | 'number' | 'boolean' | 'date'
  format: string
  priority: number
  description?: string
  /** The field whose documentation it shares: `io.k8s.api.core.v1.ConfigMap.data`. */
  describedBy?: string
}

/** Between one version of an object and what is stored. Neither changes its argument. */
export interface StoredConversion {
  /** Versions differ only in apiVersion and in the fields that their schemas know. */
  readonly isNominal: boolean
  /** To any version of the resource. Fields unknown to that version stay, as admission sees them. */
  convert(object: KubeObject, apiVersion: string): Promise<KubeObject>
  toStorage(object: KubeObject): Promise<KubeObject>
  fromStorage(object: KubeObject): Promise<KubeObject>
}

/** A version of a custom resource as the other ones know it. */
export interface SiblingVersion {
  readonly structuralSchema: JsonObject
  /** Whether there is a status subresource to write to. */
  readonly hasStatus: boolean
  /** Fields on the way to the replicas that a scale sets: `['spec', 'replicas']`. */
  readonly replicasPath?: readonly string[]
}

export interface ResourceDefinition {
  readonly gvr: GroupVersionResource
  readonly gvk: GroupVersionKind
  readonly listKind: string
  readonly singular: string
  readonly namespaced: boolean
  readonly shortNames: readonly string[]
  readonly categories: readonly string[]
  readonly verbs: readonly Verb[]
  readonly hasStatus: boolean
  readonly subresources: readonly Subresource[]
  /** Keys start with this and a slash: `/registry/pods`. Versions of one resource share it. */
  readonly storagePrefix: string
  /** Upstream stores it as JSON, which tells an empty list from none; protobuf does not. */
  readonly storedAsJson: boolean
  /** What upstream stores, where it stores JSON of another version. Must not change its argument. */
  readonly upstreamForm?: {
    write(object: KubeObject): object
    read(stored: KubeObject): KubeObject
  }
  /** The version that storage holds. Equal to gvk for all but a few. */
  readonly storageVersion: GroupVersionKind
  /** To and from the storage version; missing when this is the storage version. Must not change their argument. */
  readonly convert?: {
    toStorage(object: KubeObject): KubeObject
    fromStorage(object: KubeObject): KubeObject
  }
  /** Custom resources whose versions a webhook converts: they have no `convert`, their storage does it. */
  readonly conversion?: StoredConversion
  /** Name of the type in openapi/data/schemas.json, or undefined for a custom resource. */
  readonly schemaName: string | undefined
  /** The structural schema of a custom resource version. */
  readonly structuralSchema?: JsonObject
  /**
   * Custom resources: brings a decoded private copy into the form of its schema (pruned, defaulted), in place, and
   * yields the strict errors, `unknown field "spec.x"`.
   */
  readonly conform?: (object: KubeObject) => string[]
  /** Custom resources: all versions of the definition by name, those that are not served among them. */
  readonly versions?: ReadonlyMap<string, SiblingVersion>
  /**
   * Custom resources: writes the defaults only, for what an apply or a webhook made. Fields that are not in the schema
   * are validated and stored with the rest, but no reader is shown them.
   */
  readonly fillDefaults?: (object: KubeObject) => string[]
  /** Custom resources: the object as its current schema shows it; the same object if that changes nothing. */
  readonly onRead?: (object: KubeObject) => KubeObject
  /** Custom resources: a text for the Warning header of every answer (a deprecated version). */
  readonly deprecationWarning?: string
  /**
   * Whether the definition of a custom resource has the condition Terminating. Discovery then lists only verbs that
   * read or delete.
   */
  readonly isTerminating?: boolean
  /**
   * Of a custom resource: the revision since when its objects are shown in this way. Upstream makes a new cache then, which
   * has no older events: a watch from an older one is refused (410).
   */
  readonly shownSince?: number
  readonly strategy: Strategy
  /** A delete that removes answers with the object instead of a Status (apiserver, store.go ReturnDeletedObject). */
  readonly returnsDeletedObject: boolean
  /**
   * Fields that a field selector may name, besides metadata.name and metadata.namespace, with their value. Upstream has
   * two texts for an unknown one; `ownFieldLabels` is true for kinds with conversion functions of their own.
   */
  readonly selectableFields?: Readonly<Record<string, (object: KubeObject) => string>>
  readonly ownFieldLabels?: boolean
  /** Former names of such fields, which selectors may still use. */
  readonly fieldAliases?: Readonly<Record<string, string>>
  /** The text for an unknown field label, of the few kinds that have one of their own. */
  readonly fieldLabelError?: (field: string) => string
  /** What a 404 calls the resource, where upstream does not use the plural. */
  readonly notFoundAs?: string
  readonly columns: readonly TableColumn[]
  /** Cells of one row. `now` in ms since the epoch. Missing: name and age. */
  readonly cells?: (object: KubeObject, now: number) => unknown[]
  /** Every event of a watch brings the columns, not the first alone. */
  readonly repeatsTableHeader?: boolean
  /** False where upstream's status subresource makes no Table. */
  readonly hasTableOfStatus?: boolean
  /** What a row's `conditions` hold, by which kubectl knows finished pods; undefined for none. */
  readonly rowConditions?: (object: KubeObject) => unknown[] | undefined
  /** The order of rows in the Table of a list, if it is not that of its objects. */
  readonly rowOrder?: (a: KubeObject, b: KubeObject) => number
  /** Annotations that stand for a field of upstream's internal type. PartialObjectMetadata lacks them. */
  readonly fieldAnnotations?: readonly string[]
  readonly isCustom: boolean
  /** Objects expire by themselves (Events). */
  readonly ttlSeconds?: number
  /** Computed for each reader (ComponentStatus): resourceVersion and continue mean nothing. */
  readonly isNeverStored?: boolean
  readonly storageVersionHash?: string
}

/**
 * What a kind's file exports: only what differs from the facts. built-in-rows.ts merges it with discovery.json,
 * table-columns.json and the defaults.
 */
export interface KindDefinition {
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly strategy?: Strategy
  readonly subresources?: readonly (Pick<Subresource, 'name' | 'style'> & Partial<Subresource>)[]
  readonly convert?: ResourceDefinition['convert']
  readonly storageVersion?: GroupVersionKind
  readonly upstreamForm?: ResourceDefinition['upstreamForm']
  readonly storagePrefix?: string
  readonly selectableFields?: ResourceDefinition['selectableFields']
  readonly ownFieldLabels?: boolean
  readonly fieldAliases?: ResourceDefinition['fieldAliases']
  readonly fieldLabelError?: ResourceDefinition['fieldLabelError']
  readonly notFoundAs?: string
  readonly cells?: ResourceDefinition['cells']
  readonly repeatsTableHeader?: boolean
  readonly hasTableOfStatus?: boolean
  readonly rowConditions?: ResourceDefinition['rowConditions']
  readonly rowOrder?: ResourceDefinition['rowOrder']
  readonly fieldAnnotations?: readonly string[]
  readonly ttlSeconds?: number
  readonly isNeverStored?: boolean
  readonly deprecationWarning?: string
  /** A valid object: every kind earns its generic tests from it. */
  readonly sample: Partial<KubeObject>
}

/** Types a kind's definition. */
export const defineKind = (definition: KindDefinition): KindDefinition => definition
