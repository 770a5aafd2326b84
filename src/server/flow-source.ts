/** Flow schemas and priority levels as they are stored: read once, then followed. */
import { setTimeout } from 'node:timers/promises'
import type { Clock } from '#api/clock.js'
import type { KubeObject } from '#api/object.js'
import type { FlowRule, FlowSchema } from '#filters/flow-schemas.js'
import { limits } from '#limits'
import { internalContext } from '#registry/internal-context.js'
import type { Store } from '#registry/store.js'

const group = 'flowcontrol.apiserver.k8s.io'

export interface FlowSourceDeps {
  readonly storeOf: (resource: { group: string; resource: string }) => Store | undefined
  readonly clock: Clock
  readonly log: (message: string, error?: unknown) => void
}

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

export const followFlowSchemas = async (deps: FlowSourceDeps): Promise<FlowSource> => {
  const stopping = new AbortController()
  const { signal } = stopping
  let made: readonly FlowSchema[] | undefined

  const follow = async (resource: string): Promise<{ objects: Objects; done: Promise<void> }> => {
    const store = deps.storeOf({ group, resource })!
    const selection = { prefix: `${store.definition.storagePrefix}/` }
    const context = () =>
      internalContext({ now: deps.clock.now(), caller: { signal }, stores: () => undefined })
    const objects: Objects = new Map()
    const read = async (): Promise<number> => {
      const consistency = { kind: 'any' } as const
      const page = await store.list(context(), { selection, consistency, limit: 0 })
      objects.clear()
      for (const { object } of page.items) objects.set(object.metadata.name!, object)
      made = undefined
      return page.revision
    }
    const watch = async (after: number): Promise<void> => {
      for await (const { events } of store.watch(context(), { selection, after, signal })) {
        for (const { type, stored } of events) {
          const name = stored.object.metadata.name!
          if (type === 'DELETED') objects.delete(name)
          else objects.set(name, stored.object)
        }
        made = undefined
      }
    }
    const keep = async (first: number): Promise<void> => {
      let revision: number | undefined = first
      while (!signal.aborted) {
        try {
          await watch(revision ?? (await read()))
        } catch (error) {
          if (signal.aborted) return
          deps.log(`the watch of ${resource} starts again`, error)
        }
        revision = undefined
        await setTimeout(limits.retryMs, undefined, { signal, ref: false }).catch(() => {})
      }
    }
    const revision = await read()
    return { objects, done: keep(revision) }
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
