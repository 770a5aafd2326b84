/**
 * The condition Dangling of flow schemas: whether their priority level is there. Applied as by upstream's controller,
 * which lives in the API server, too (apiserver, util/flowcontrol/apf_controller.go).
 */
import { ApiError } from '#api/errors.js'
import type { KubeObject, PersistedObject } from '#api/object.js'
import type { RequestContext } from '#registry/resource-definition.js'
import type { Store } from '#registry/store.js'
import { type AppliedCondition, applyConditions, type FieldManagerOf } from '../apply-conditions.js'

const manager = 'api-priority-and-fairness-config-consumer-v1'

export interface ConditionDeps {
  readonly store: Store
  readonly fieldManagerOf: FieldManagerOf
  /** A context of the server's own. */
  readonly context: () => RequestContext
  /** Whether the condition of that schema may be written now. */
  readonly mayWrite: (name: string) => boolean
}

const danglingCondition = (levelName: string, exists: boolean): AppliedCondition => {
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

const isSaid = ({ status }: KubeObject, { type, ...wanted }: AppliedCondition): boolean => {
  const conditions: AppliedCondition[] = status?.conditions ?? []
  const said = conditions.find((one) => one.type === type)
  return (
    said?.status === wanted.status &&
    said.reason === wanted.reason &&
    said.message === wanted.message
  )
}

/** Writes only if the condition changes, and not too often. If the schema has been deleted meanwhile, nothing is to be done. */
export const keepDangling = async (
  { store, fieldManagerOf, context, mayWrite }: ConditionDeps,
  schema: PersistedObject,
  level: string,
  levelExists: boolean,
): Promise<void> => {
  const condition = danglingCondition(level, levelExists)
  if (isSaid(schema, condition)) return
  const { name } = schema.metadata
  if (!mayWrite(name)) return
  try {
    await applyConditions({ store, fieldManagerOf, ctx: context(), manager }, name, [condition])
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 404) throw error
  }
}
