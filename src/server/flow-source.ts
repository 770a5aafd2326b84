/** Flow schemas and priority levels as they are stored: read once, then followed; schemas are told whether their level is there. */
import type { KubeObject } from '#api/object.js'
import type { FlowRule, FlowSchema } from '#filters/flow-schemas.js'
import { type FollowDeps, followObjects } from '#registry/follow-objects.js'
import { internalContext } from '#registry/internal-context.js'
import { type ConditionDeps, keepDangling } from './flow-schema-conditions.js'

const group = 'flowcontrol.apiserver.k8s.io'

export interface FlowSource {
  readonly schemas: () => readonly FlowSchema[]
  stop(): Promise<void>
}

type Objects = Map<string, KubeObject>

const levelOf = ({ spec }: KubeObject): string => spec.priorityLevelConfiguration.name

/** A schema whose priority level is not there takes no part. */
const ordered = (schemas: Objects, levels: Objects): FlowSchema[] =>
  [...schemas.values()]
    .filter((schema) => levels.has(levelOf(schema)))
    .sort(
      (a, b) =>
        a.spec.matchingPrecedence - b.spec.matchingPrecedence ||
        (a.metadata.name! < b.metadata.name! ? -1 : 1),
    )
    .map((schema) => ({
      uid: schema.metadata.uid!,
      priorityLevelUid: levels.get(levelOf(schema))!.metadata.uid!,
      rules: (schema.spec.rules ?? []) as FlowRule[],
    }))

export const followFlowSchemas = async (
  deps: Omit<FollowDeps, 'signal'> & Pick<ConditionDeps, 'fieldManagerOf'>,
): Promise<FlowSource> => {
  const stopping = new AbortController()
  const { signal } = stopping
  const { storeOf, clock, fieldManagerOf } = deps
  const schemas: Objects = new Map()
  const levels: Objects = new Map()
  let made: readonly FlowSchema[] | undefined
  const conditions: ConditionDeps = {
    store: storeOf({ group, resource: 'flowschemas' })!,
    fieldManagerOf,
    context: () =>
      internalContext({ now: clock.now(), caller: { signal }, stores: () => undefined }),
  }
  const judge = async (which: (schema: KubeObject) => boolean): Promise<void> => {
    // At once: at a first start all are told, and what is written together costs one write of the store.
    await Promise.all(
      [...schemas.values()]
        .filter(which)
        .map((schema) => keepDangling(conditions, schema, levels.has(levelOf(schema)))),
    )
  }

  const follow = (
    resource: string,
    objects: Objects,
    concerns: (object: KubeObject) => (schema: KubeObject) => boolean,
  ): Promise<{ done: Promise<void> }> =>
    followObjects(
      { ...deps, signal },
      { group, resource },
      {
        replace: (all) => {
          objects.clear()
          for (const object of all) objects.set(object.metadata.name!, object)
          made = undefined
          // At first no schema is known before all levels are.
          return judge(() => true)
        },
        changed: (type, object) => {
          if (type === 'DELETED') objects.delete(object.metadata.name!)
          else objects.set(object.metadata.name!, object)
          made = undefined
          return judge(concerns(object))
        },
      },
    )

  const followed = [
    await follow('prioritylevelconfigurations', levels, ({ metadata }) => {
      return (schema) => levelOf(schema) === metadata.name
    }),
    await follow('flowschemas', schemas, ({ metadata }) => {
      return (schema) => schema.metadata.name === metadata.name
    }),
  ]
  return {
    schemas: () => {
      made ??= ordered(schemas, levels)
      return made
    },
    stop: async () => {
      stopping.abort()
      await Promise.all(followed.map(({ done }) => done))
    },
  }
}
