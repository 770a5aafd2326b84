/** Subresources that show and write another form of their parent: scale, resize, ephemeralcontainers, finalize, approval. */
import { notFound } from '#api/errors.js'
import { cloneJson } from '#api/json-object.js'
import type { JsonObject, KubeObject } from '#api/object.js'
import type {
  RequestContext,
  ResourceDefinition,
  Subresource,
} from '#registry/resource-definition.js'
import type { UpdateOptions } from '#registry/store.js'
import type { Target } from '../api-deps.js'
import { schemaNameOf } from '../schema-names.js'

const bodyDefinitions = new WeakMap<Subresource, ResourceDefinition>()

/** What the body of a subresource is decoded as: its own kind where it has one, without the parent's rules. */
export const definitionOfBody = ({ definition, view }: Target): ResourceDefinition => {
  if (view === undefined) return definition
  const { kind } = view
  if (kind.kind === definition.gvk.kind && kind.group === definition.gvk.group) return definition
  let body = bodyDefinitions.get(view)
  if (body === undefined) {
    body = {
      ...definition,
      gvk: kind,
      schemaName: schemaNameOf(kind),
      strategy: {},
      isCustom: false,
    }
    bodyDefinitions.set(view, body)
  }
  return body
}

/** A view that checks its parent in a way of its own replaces the checks of the parent's strategy. */
export const hooksOfView = (view: Subresource | undefined): UpdateOptions =>
  view?.validateUpdate === undefined
    ? {}
    : { strategy: 'none', hooks: { validateUpdate: view.validateUpdate } }

/** Wraps the making of the view's next form into a change of the parent. */
export const throughView =
  (
    { definition, name }: Target,
    view: Subresource,
    ctx: RequestContext,
    next: (shown: KubeObject) => KubeObject | Promise<KubeObject>,
  ) =>
  async (current: KubeObject | undefined): Promise<KubeObject> => {
    if (current === undefined) throw notFound(definition.gvr, name)
    const parent = cloneJson(current as unknown as JsonObject) as unknown as KubeObject
    const shown = view.read?.(current) ?? current
    const changed = await next(shown)
    const { resourceVersion } = changed.metadata
    const result = view.write?.(parent, changed, ctx) ?? changed
    if (resourceVersion === undefined) delete result.metadata.resourceVersion
    else result.metadata.resourceVersion = resourceVersion
    return result
  }
