/** Flow schemas and priority levels as they are stored: read once, then followed. */
import type { KubeObject } from '#api/object.js'
import type { FlowRule, FlowSchema } from '#filters/flow-schemas.js'
import { type FollowDeps, followObjects } from '#registry/follow-objects.js'

const group = 'flowcontrol.apiserver.k8s.io'

export interface FlowSource {
  readonly schemas: () => readonly FlowSchema[]
  stop(): Promise<void>
}

type Objects = Map<string, KubeObject>

/** A schema whose priority level is not there takes no part. */
const ordered = (schemas: Objects, levels: Objects): FlowSchema[] =>
  [...schemas.values()]
    .filter(({ spec }) => levels.has(spec.priorityLevelConfiguration.name))
    .sort(
      (a, b) =>
        a.spec.matchingPrecedence - b.spec.matchingPrecedence ||
        (a.metadata.name! < b.metadata.name! ? -1 : 1),
    )
    .map(({ metadata, spec }) => ({
      uid: metadata.uid!,
      priorityLevelUid: levels.get(spec.priorityLevelConfiguration.name)!.metadata.uid!,
      rules: (spec.rules ?? []) as FlowRule[],
    }))

export const followFlowSchemas = async (deps: Omit<FollowDeps, 'signal'>): Promise<FlowSource> => {
  const stopping = new AbortController()
  let made: readonly FlowSchema[] | undefined

  const follow = async (resource: string): Promise<{ objects: Objects; done: Promise<void> }> => {
    const objects: Objects = new Map()
    const { done } = await followObjects(
      { ...deps, signal: stopping.signal },
      { group, resource },
      {
        replace: (all) => {
          objects.clear()
          for (const object of all) objects.set(object.metadata.name!, object)
          made = undefined
        },
        changed: (type, object) => {
          if (type === 'DELETED') objects.delete(object.metadata.name!)
          else objects.set(object.metadata.name!, object)
          made = undefined
        },
      },
    )
    return { objects, done }
  }

  const schemas = await follow('flowschemas')
  const levels = await follow('prioritylevelconfigurations')
  return {
    schemas: () => {
      made ??= ordered(schemas.objects, levels.objects)
      return made
    },
    stop: async () => {
      stopping.abort()
      await Promise.all([schemas.done, levels.done])
    },
  }
}
