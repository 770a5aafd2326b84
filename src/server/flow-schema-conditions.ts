/**
 * The condition Dangling of flow schemas: whether their priority level is there. Applied as by upstream's controller,
 * which lives in the API server, too (apiserver, util/flowcontrol/apf_controller.go).
 */
import { formatTime } from '#api/clock.js'
import { ApiError } from '#api/errors.js'
import { formatGroupVersion } from '#api/group-version.js'
import type { KubeObject, PersistedObject } from '#api/object.js'
import { decodeObject } from '#registry/decode.js'
import type { FieldManager } from '#registry/field-manager/field-manager.js'
import type { RequestContext, ResourceDefinition } from '#registry/resource-definition.js'
import type { Store } from '#registry/store.js'

const manager = 'api-priority-and-fairness-config-consumer-v1'

export interface ConditionDeps {
  readonly store: Store
  readonly fieldManagerOf: (definition: ResourceDefinition) => FieldManager
  /** A context of the server's own. */
  readonly context: () => RequestContext
}

interface Condition {
  type: string
  status: string
  reason: string
  message: string
}

const danglingCondition = (levelName: string, exists: boolean): Condition => {
  const found = `This FlowSchema references the PriorityLevelConfiguration object named ${JSON.stringify(levelName)}`
  return exists
    ? { type: 'Dangling', status: 'False', reason: 'Found', message: `${found} and it exists` }
    : {
        type: 'Dangling',
        status: 'True',
        reason: 'NotFound',
        message: `${found} but there is no such object`,
      }
}

const isSaid = ({ status }: KubeObject, { type, ...wanted }: Condition): boolean => {
  const conditions: Condition[] = status?.conditions ?? []
  const said = conditions.find((one) => one.type === type)
  return (
    said?.status === wanted.status &&
    said.reason === wanted.reason &&
    said.message === wanted.message
  )
}

/** Writes only if the condition changes. If the schema has been deleted meanwhile, nothing is to be done. */
export const keepDangling = async (
  { store, fieldManagerOf, context }: ConditionDeps,
  schema: PersistedObject,
  levelExists: boolean,
): Promise<void> => {
  const condition = danglingCondition(schema.spec.priorityLevelConfiguration.name, levelExists)
  if (isSaid(schema, condition)) return
  const { definition } = store
  const ctx = { ...context(), subresource: 'status' }
  const { name } = schema.metadata
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
        status: { conditions: [{ ...condition, lastTransitionTime: formatTime(ctx.now) }] },
      },
      force: true,
    })
    return decodeObject(definition, merged).object
  }
  try {
    await store.update(ctx, name, apply, { managedFieldsTracked: true })
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 404) throw error
  }
}
