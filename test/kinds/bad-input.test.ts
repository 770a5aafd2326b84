/** Whatever a client sends, the answer is a Status or the object: never an exception of ours. */

import t from 'tap'
import { ApiError } from '#api/errors.js'
import type { KubeObject } from '#api/object.js'
import type { JsonValue } from '#json/value.js'
import { groupKinds } from '#kinds/group-kinds.js'
import { kinds } from '#kinds/index.js'
import { type Schema, schemaNameOfRef, schemas } from '#openapi/schemas.js'
import { decodeObject } from '#registry/decode.js'
import { makeResourceTable } from '#registry/resource-table.js'
import { startApiInMemory } from './api-in-memory.js'

/** A small generator with a seed: the same objects in every run. */
const makeRandom = (seed: number) => () => {
  seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0
  return seed / 2 ** 32
}

const resolve = (schema: Schema): Schema => {
  if (schema.$ref) return resolve(schemas()[schemaNameOfRef(schema.$ref)]!)
  return schema.allOf?.[0] === undefined
    ? schema
    : { ...resolve(schema.allOf[0]), ...{ allOf: undefined } }
}

const texts = [
  '',
  'a',
  'a.b/c',
  'A_ b',
  '10.0.0.1',
  '10.0.0.0/24',
  '1',
  'fd00::1',
  '*',
  '-1',
  'https://x',
]
const numbers = [0, -1, 1, 80, 70_000, 2 ** 31]

/** A value of the schema: often valid, often empty, sometimes null. */
const generate = (schema: Schema, random: () => number, depth: number): JsonValue => {
  const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)]!
  if (random() < 0.05) return null
  const s = resolve(schema)
  if (s.enum && random() < 0.8) return pick(s.enum)
  switch (s.type) {
    case 'string':
      return s.format === 'date-time' ? '2026-01-01T00:00:00Z' : pick(texts)
    case 'integer':
    case 'number':
      return pick(numbers)
    case 'boolean':
      return random() < 0.5
    case 'array': {
      const length = depth > 7 ? 0 : Math.floor(random() * 3)
      return Array.from({ length }, () => generate(s.items ?? {}, random, depth + 1))
    }
    default: {
      if (s.additionalProperties)
        return random() < 0.3
          ? {}
          : {
              [pick(['cpu', 'storage', 'a', 'a b'])]: generate(
                s.additionalProperties,
                random,
                depth + 1,
              ),
            }
      if (s.oneOf || s.type === undefined) return pick<JsonValue>(['1', 1, '50%', 'x'])
      const entries = Object.entries(s.properties ?? {})
        .filter(() => depth < 9 && random() < 0.6)
        .map(([name, property]) => [name, generate(property, random, depth + 1)])
      return Object.fromEntries(entries)
    }
  }
}

const table = makeResourceTable(kinds)

t.test(
  'generated objects of every kind are taken or refused, and so are updates to them',
  async (t) => {
    const api = await startApiInMemory()
    t.teardown(() => api.close())
    await api.create('networking.k8s.io/v1/servicecidrs', {
      metadata: { name: 'kubernetes' },
      spec: { cidrs: ['10.0.0.0/24'] },
    })
    let taken = 0
    for (const kind of groupKinds) {
      const definition = table.byKind(kind)!
      const { group, version, resource } = definition.gvr
      const gvr = group === '' ? `${version}/${resource}` : `${group}/${version}/${resource}`
      const schema = schemas()[definition.schemaName!]!
      const random = makeRandom(kind.kind.length * 7919)
      for (let i = 0; i < 60; i++) {
        const generated = generate({ ...schema, $ref: undefined }, random, 0) as KubeObject | null
        const body = { ...generated, metadata: { name: 'x' } }
        const call = { namespace: definition.namespaced ? 'a' : undefined, dryRun: true }
        try {
          const { code } = await api.create(gvr, body, call)
          if (code === 201) taken++
          const stored = decodeObject(definition, { ...kind.sample }).object
          const next = decodeObject(definition, body).object
          const ctx = api.context(call)
          const metadata = { change: () => [], create: () => [] }
          const { toStorage = (o: KubeObject) => o } = definition.convert ?? {}
          const [a, b] = [toStorage(next), toStorage(stored)]
          definition.strategy.prepareForUpdate?.(a, b, ctx)
          definition.strategy.validateUpdate?.(a, b, ctx, metadata)
          definition.strategy.status?.validateUpdate?.(a, b, ctx, metadata)
          definition.cells?.(a, 0)
        } catch (error) {
          if (error instanceof ApiError) continue
          t.fail(
            `${gvr}: ${(error as Error).stack?.split('\n').slice(0, 3).join(' ')} on ${JSON.stringify(body)}`,
          )
          break
        }
      }
    }
    t.ok(taken > 100, `${taken} were valid`)
  },
)

t.test(
  'the sample of every kind is valid, and stays so when it is stored and written again',
  async (t) => {
    const api = await startApiInMemory()
    t.teardown(() => api.close())
    for (const kind of groupKinds) {
      const definition = table.byKind(kind)!
      const { group, version, resource } = definition.gvr
      const gvr = group === '' ? `${version}/${resource}` : `${group}/${version}/${resource}`
      const namespace = definition.namespaced ? 'default' : undefined
      const made = await api.create(gvr, structuredClone(kind.sample), { namespace })
      t.equal(made.code, 201, `${gvr} ${JSON.stringify(made.body.message)}`)
      if (made.code !== 201) continue
      const again = await api.replace(gvr, made.body.metadata.name, () => {}, { namespace })
      t.match(again, { code: 200 }, `${gvr} ${JSON.stringify(again.body.message)}`)
      t.equal(
        again.body.metadata?.resourceVersion !== made.body.metadata.resourceVersion,
        definition.strategy.isFilledOnRead?.(made.body) === true,
        `${gvr} is written where upstream fills in what it reads, and only there`,
      )
    }
  },
)
