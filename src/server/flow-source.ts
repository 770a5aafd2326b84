/** Flow schemas and priority levels as they are stored: read once, then followed; schemas are told whether their level is there. */
import type { PersistedObject } from '#api/object.js'
import type { FlowRule, FlowSchema } from '#filters/flow-schemas.js'
import { type FollowDeps, followObjects } from '#registry/follow-objects.js'
import { internalContext } from '#registry/internal-context.js'
import { type ConditionDeps, keepDangling } from './flow-schema-conditions.js'

const group = 'flowcontrol.apiserver.k8s.io'

type Objects = Map<string, PersistedObject>

const levelOf = ({ spec }: PersistedObject): string => spec.priorityLevelConfiguration.name

/** A schema whose priority level is not there takes no part. */
const ordered = (schemas: Objects, levels: Objects): FlowSchema[] =>
  [...schemas.values()]
    .filter((schema) => levels.has(levelOf(schema)))
    .sort(
      (a, b) =>
        a.spec.matchingPrecedence - b.spec.matchingPrecedence ||
        (a.metadata.name < b.metadata.name ? -1 : 1),
    )
    .map((schema) => ({
      uid: schema.metadata.uid,
      priorityLevelUid: levels.get(levelOf(schema))!.metadata.uid,
      rules: (schema.spec.rules ?? []) as FlowRule[],
    }))

export type FlowSourceDeps = Omit<FollowDeps, 'signal'> & Pick<ConditionDeps, 'fieldManagerOf'>

export class FlowSource {
  readonly #deps: FlowSourceDeps
  readonly #stopping = new AbortController()
  readonly #schemas: Objects = new Map()
  readonly #levels: Objects = new Map()
  readonly #followed: Promise<void>[] = []
  #ordered: readonly FlowSchema[] | undefined

  constructor(deps: FlowSourceDeps) {
    this.#deps = deps
  }

  /** Resolves when all are known; levels first, because a schema is told about its own. */
  async start(): Promise<void> {
    await this.#follow('prioritylevelconfigurations', this.#levels, ({ metadata }) => {
      return (schema) => levelOf(schema) === metadata.name
    })
    await this.#follow('flowschemas', this.#schemas, ({ metadata }) => {
      return (schema) => schema.metadata.name === metadata.name
    })
  }

  /** In order of precedence. */
  readonly schemas = (): readonly FlowSchema[] => {
    this.#ordered ??= ordered(this.#schemas, this.#levels)
    return this.#ordered
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await Promise.all(this.#followed)
  }

  /** `concerns` tells which schemas may have to be told something else when that object changes. */
  async #follow(
    resource: string,
    objects: Objects,
    concerns: (object: PersistedObject) => (schema: PersistedObject) => boolean,
  ): Promise<void> {
    const { done } = await followObjects(
      { ...this.#deps, signal: this.#stopping.signal },
      { group, resource },
      {
        replace: (all) => {
          objects.clear()
          for (const object of all) objects.set(object.metadata.name, object)
          this.#ordered = undefined
          return this.#judge(() => true)
        },
        changed: (type, object) => {
          if (type === 'DELETED') objects.delete(object.metadata.name)
          else objects.set(object.metadata.name, object)
          this.#ordered = undefined
          return this.#judge(concerns(object))
        },
      },
    )
    this.#followed.push(done)
  }

  /** At once: at a first start all are told, and what is written together costs one write of the store. */
  async #judge(which: (schema: PersistedObject) => boolean): Promise<void> {
    const { storeOf, clock, fieldManagerOf } = this.#deps
    const caller = { signal: this.#stopping.signal }
    const conditions: ConditionDeps = {
      store: storeOf({ group, resource: 'flowschemas' })!,
      fieldManagerOf,
      context: () => internalContext({ now: clock.now(), caller, stores: () => undefined }),
    }
    await Promise.all(
      [...this.#schemas.values()]
        .filter(which)
        .map((schema) => keepDangling(conditions, schema, this.#levels.has(levelOf(schema)))),
    )
  }
}
