/** Subresources that show and write another form of their parent: scale, resize, ephemeralcontainers, finalize, approval. */

import { notFound } from '#api/errors.js'
import { formatGroupVersion, parseGroupVersion } from '#api/group-version.js'
import type { KubeObject } from '#api/object.js'
import { copyWith } from '#json/copy-with.js'
import { cloneJson, replaceFields } from '#json/object.js'
import { bodyDefinition } from '#registry/body-definition.js'
import { withManagedFields } from '#registry/field-manager/field-manager.js'
import { ownersOfScale, ownersOfScaled } from '#registry/field-manager/scale-owners.js'
import type {
  RequestContext,
  ResourceDefinition,
  Subresource,
  UpdateStrategy,
} from '#registry/resource-definition.js'
import type { Change, UpdateOptions } from '#registry/store.js'
import type { ApiDeps, Target } from '../api-deps.js'

/** What the body of the request is decoded as. */
export const definitionOfBody = ({ definition, view }: Target): ResourceDefinition =>
  bodyDefinition(definition, view)

/** Of these subresources only scales and most statuses have Tables. */
export const hasTable = ({ view, subresource, definition }: Target): boolean =>
  view === undefined
    ? subresource !== 'status' || definition.hasTableOfStatus !== false
    : view.kind.kind === 'Scale'

/** A view that shows the parent itself takes its part of what was sent after admission has seen all of it. */
const takePart =
  (view: Subresource): UpdateStrategy['prepareForUpdate'] =>
  (next, previous, ctx) => {
    replaceFields(next, view.write!(cloneJson(previous), { ...next }, ctx))
  }

/** A view with validation of its own replaces that of the parent's strategy. Admission sees the view. */
export const hooksOfView = (view: Subresource | undefined): UpdateOptions =>
  view === undefined
    ? {}
    : {
        ...(view.validateUpdate === undefined
          ? {}
          : {
              hooks: {
                validateUpdate: view.validateUpdate,
                ...(view.read === undefined && { prepareForUpdate: takePart(view) }),
                ...(view.metadataRevalidation && {
                  metadataRevalidation: view.metadataRevalidation,
                }),
              },
            }),
        ...(view.read !== undefined && { admittedAs: view.read }),
      }

/** Turns a change of the view into a change of the parent. */
export const throughView =
  (
    { definition, name }: Target,
    { view, ...owners }: ViewOwners,
    ctx: RequestContext,
    next: (shown: KubeObject) => KubeObject | Promise<KubeObject>,
  ): Change =>
  async (current, admit) => {
    if (current === undefined) throw notFound(definition.gvr, name)
    const read = view.readForWrite?.(current) ?? view.read?.(current) ?? current
    const shown = owners.show(read, current)
    const changed = await next(shown)
    const tracked = withManagedFields(changed, await owners.track(shown, changed))
    // A form of its own is admitted as it was sent, and then checked (apiserver, scaleUpdatedObjectInfo).
    if (view.read !== undefined) await admit(tracked, shown)
    const { resourceVersion, managedFields } = tracked.metadata
    const written =
      view.read === undefined ? tracked : view.write!(cloneJson(current), tracked, ctx)
    const result = withManagedFields(written, owners.keep(managedFields, current))
    // A scale without a resourceVersion is written unconditionally, even for kinds that require one on their main
    // resource.
    const unconditional = definition.strategy.allowUnconditionalUpdate ?? true
    if (resourceVersion === undefined && !unconditional && view.write !== undefined)
      result.metadata.resourceVersion = current.metadata.resourceVersion
    else if (resourceVersion === undefined) delete result.metadata.resourceVersion
    else result.metadata.resourceVersion = resourceVersion
    return result
  }

type OwnersEntries = KubeObject['metadata']['managedFields']

/**
 * Field owners of a write through a view. They are computed from the body, before the view takes its part of it. If the
 * view has a kind of its own, they own fields of the view, and through it a part of the parent.
 */
export interface ViewOwners {
  readonly view: Subresource
  show(read: KubeObject, parent: KubeObject): KubeObject
  /** Those of the view, once it was changed. */
  track(shown: KubeObject, changed: KubeObject): OwnersEntries | Promise<OwnersEntries>
  /** Those of the parent, whose view has these. */
  keep(ofView: OwnersEntries, parent: KubeObject): OwnersEntries
}

/** Where the replicas are. Each version of a custom resource has its own path, or none. */
const replicasPathOf = (
  { gvk, isCustom, versions }: ResourceDefinition,
  apiVersion: string,
): readonly string[] | undefined => {
  const parsed = parseGroupVersion(apiVersion)
  if (parsed?.group !== gvk.group) return undefined
  if (!isCustom) return ['f:spec', 'f:replicas']
  const version = versions?.get(parsed.version)
  return version && (version.replicasPath ?? []).map((field) => `f:${field}`)
}

/** Undefined when there is no view. */
export const ownersOfView = (
  target: Target,
  ctx: RequestContext,
  { fieldManagerOf }: ApiDeps,
  isApply: boolean,
): ViewOwners | undefined => {
  const { definition, view, subresource } = target
  if (view === undefined) return undefined
  const body = definitionOfBody(target)
  const fieldManager = fieldManagerOf(body)
  const track = (shown: KubeObject, changed: KubeObject) =>
    isApply
      ? changed.metadata.managedFields
      : fieldManager.trackUpdate({
          live: shown,
          next: changed,
          manager: ctx.fieldManager || ctx.userAgent,
          subresource,
          now: ctx.now,
        })
  if (body === definition) return { view, show: (read) => read, track, keep: (ofView) => ofView }
  const pathOf = (apiVersion: string) => replicasPathOf(definition, apiVersion)
  return {
    view,
    show: (read, { metadata }) => {
      const managedFields = ownersOfScale(metadata.managedFields, pathOf)
      return managedFields === undefined
        ? read
        : { ...read, metadata: copyWith(read.metadata, { managedFields }) }
    },
    track,
    keep: (ofView, { metadata }) =>
      ownersOfScaled({
        parent: metadata.managedFields,
        scale: ofView,
        apiVersion: formatGroupVersion(definition.gvk),
        pathOf,
      }),
  }
}

/** managedFields of an object that is answered and not stored: upstream shows them all the same. */
export const trackNew = async (
  target: Target,
  body: KubeObject,
  ctx: RequestContext,
  { fieldManagerOf }: ApiDeps,
): Promise<KubeObject> => {
  const managedFields = await fieldManagerOf(definitionOfBody(target)).trackUpdate({
    live: undefined,
    next: body,
    manager: ctx.fieldManager || ctx.userAgent,
    subresource: target.subresource,
    now: ctx.now,
  })
  return withManagedFields(body, managedFields)
}
