/** Conditions that the server itself applies to the status of an object, as upstream's controllers within it do. */
import { formatTime } from '#api/clock.js'
import { formatGroupVersion } from '#api/group-version.js'
import type { KubeObject } from '#api/object.js'
import { decodeObject } from '#registry/decode.js'
import type { FieldManager } from '#registry/field-manager/field-manager.js'
import type { RequestContext, ResourceDefinition } from '#registry/resource-definition.js'
import type { Store } from '#registry/store.js'

export type FieldManagerOf = (definition: ResourceDefinition) => FieldManager

/** `reason` is left out where upstream gives none: it is not owned then. */
export interface AppliedCondition {
  readonly type: string
  readonly status: string
  readonly reason?: string
  readonly message: string
}

interface Apply {
  readonly store: Store
  readonly fieldManagerOf: FieldManagerOf
  readonly ctx: RequestContext
  readonly manager: string
}

export const applyConditions = async (
  { store, fieldManagerOf, ctx, manager }: Apply,
  name: string,
  conditions: readonly AppliedCondition[],
): Promise<void> => {
  const { definition } = store
  const lastTransitionTime = formatTime(ctx.now)
  const apply = async (live: KubeObject | undefined): Promise<KubeObject> => {
    const merged = await fieldManagerOf(definition).apply({
      live,
      manager,
      subresource: 'status',
      now: ctx.now,
      patch: {
        apiVersion: formatGroupVersion(definition.gvk),
        kind: definition.gvk.kind,
        metadata: { name },
        status: { conditions: conditions.map((one) => ({ ...one, lastTransitionTime })) },
      },
      force: true,
    })
    return decodeObject(definition, merged).object
  }
  await store.update({ ...ctx, subresource: 'status' }, name, apply, { managedFieldsTracked: true })
}
