/** Follows the stored flow schemas and priority levels, and writes the condition Dangling of schemas. */

import type { KubeObject, PersistedObject } from '#api/object.js'
import type { FlowControl } from '#flowcontrol/flow-control.js'
import type { SchemaSpec } from '#flowcontrol/flow-schema.js'
import type { LevelSpec } from '#flowcontrol/priority-level.js'
import { compareTexts } from '#go/compare-texts.js'
import { limits } from '#limits'
import { bootstrapObjects } from '#openapi/schemas.js'
import { type FollowerDeps, followObjects } from '#registry/follow-objects.js'
import { internalContext } from '#registry/internal-context.js'
import { type ConditionDeps, keepDangling } from './flow-schema-conditions.js'
import { WritePace, type WritePaceDeps } from './write-pace.js'

const group = 'flowcontrol.apiserver.k8s.io'

const isNamed =
  (name: string) =>
  ({ metadata }: PersistedObject) =>
    metadata.name === name

type Objects = Map<string, PersistedObject>

/** Empty in one that somebody has stored without a spec, as Go reads it. */
const levelOf = ({ spec }: KubeObject): string => spec?.priorityLevelConfiguration?.name ?? ''

const mandatoryNames = ['exempt', 'catch-all']

/** Adds the mandatory ones, in their original form, if somebody has deleted them. */
const withMandatory = (resource: string, stored: Objects): KubeObject[] => {
  const missing = mandatoryNames.filter((name) => !stored.has(name))
  if (missing.length === 0) return [...stored.values()]
  const made = bootstrapObjects()[`/apis/${group}/v1/${resource}`] as unknown as KubeObject[]
  return [...stored.values(), ...made.filter(({ metadata }) => missing.includes(metadata.name!))]
}

const levelSpecOf = ({ metadata, spec }: KubeObject): LevelSpec => {
  const { nominalConcurrencyShares, lendablePercent, borrowingLimitPercent, limitResponse } =
    spec?.limited ?? spec?.exempt ?? {}
  return {
    name: metadata.name!,
    uid: metadata.uid ?? '',
    isExempt: spec?.type === 'Exempt',
    shares: nominalConcurrencyShares ?? 0,
    lendablePercent: lendablePercent ?? 0,
    borrowingLimitPercent,
    queuing: limitResponse?.queuing,
  }
}

/** In order of precedence. A schema whose priority level does not exist is left out. */
const schemaSpecsOf = (
  schemas: readonly KubeObject[],
  levels: readonly LevelSpec[],
): SchemaSpec[] => {
  const names = new Set(levels.map(({ name }) => name))
  return schemas
    .filter((schema) => names.has(levelOf(schema)))
    .sort(
      (a, b) =>
        a.spec.matchingPrecedence - b.spec.matchingPrecedence ||
        compareTexts(a.metadata.name!, b.metadata.name!),
    )
    .map((schema) => ({
      name: schema.metadata.name!,
      uid: schema.metadata.uid ?? '',
      level: levelOf(schema),
      rules: schema.spec.rules ?? [],
      distinguishedBy: schema.spec.distinguisherMethod?.type,
    }))
}

interface FlowSourceDeps
  extends FollowerDeps,
    WritePaceDeps,
    Pick<ConditionDeps, 'fieldManagerOf'> {
  readonly control: FlowControl
}

export class FlowSource {
  readonly #deps: FlowSourceDeps
  readonly #stopping = new AbortController()
  readonly #schemas: Objects = new Map()
  readonly #levels: Objects = new Map()
  readonly #followed: Promise<void>[] = []
  readonly #pace: WritePace
  #adjusting: NodeJS.Timeout | undefined

  constructor(deps: FlowSourceDeps) {
    this.#deps = deps
    this.#pace = new WritePace(deps)
  }

  /** Resolves when all are known. Levels come first, because the conditions of schemas depend on them. */
  async start(): Promise<void> {
    await this.#follow('prioritylevelconfigurations', this.#levels, ({ metadata }) => {
      return (schema) => levelOf(schema) === metadata.name
    })
    await this.#follow('flowschemas', this.#schemas, ({ metadata }) => isNamed(metadata.name))
    const { control } = this.#deps
    this.#adjusting = setInterval(() => control.adjust(), limits.borrowingAdjustmentMs)
    this.#adjusting.unref()
  }

  async stop(): Promise<void> {
    clearInterval(this.#adjusting)
    this.#stopping.abort()
    await Promise.all(this.#followed)
  }

  /** `concerns` says which schemas may need another condition when that object changes. */
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
          this.#pace.keep(this.#schemas)
          this.#configure()
          return this.#judge(() => true)
        },
        changed: (type, object) => {
          if (type === 'DELETED') objects.delete(object.metadata.name)
          else objects.set(object.metadata.name, object)
          this.#pace.keep(this.#schemas)
          this.#configure()
          return this.#judge(concerns(object))
        },
      },
    )
    this.#followed.push(done)
  }

  #configure(): void {
    const levels = withMandatory('prioritylevelconfigurations', this.#levels).map(levelSpecOf)
    const schemas = withMandatory('flowschemas', this.#schemas)
    this.#deps.control.configure(levels, schemaSpecsOf(schemas, levels))
  }

  /**
   * All at once: at a first start every schema is written, and writes that come together share one write of the store.
   */
  async #judge(which: (schema: PersistedObject) => boolean): Promise<void> {
    const { storeOf, clock, fieldManagerOf } = this.#deps
    const caller = { signal: this.#stopping.signal }
    const conditions: ConditionDeps = {
      store: storeOf({ group, resource: 'flowschemas' })!,
      fieldManagerOf,
      context: () => internalContext({ now: clock.now(), caller, stores: () => undefined }),
      mayWrite: (name) => this.#pace.mayWrite(name, () => this.#judgeAgain(name)),
    }
    await Promise.all(
      [...this.#schemas.values()].filter(which).map((schema) => {
        const level = levelOf(schema)
        return keepDangling(conditions, schema, level, this.#levels.has(level))
      }),
    )
  }

  #judgeAgain(name: string): void {
    if (this.#stopping.signal.aborted) return
    const { log } = this.#deps
    this.#judge(isNamed(name)).catch((error) => log(`the condition of flow schema ${name}`, error))
  }
}
