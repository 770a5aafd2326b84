/** Definitions with random schemas, and custom resources under those that are accepted: written, updated, patched, applied. */
import type { Dice } from '../../dice.js'
import type { Example } from '../report.js'
import { remove } from '../subjects.js'
import { namespace, type Part, type Sweep } from '../sweep.js'
import { type Request, typed } from '../target.js'
import { type RandomSchema, randomSchema, randomValue } from './random-schemas.js'
import { awaitServed, definitions, kindOf } from './served.js'

const group = 'random.sweep.example.com'
const apiVersion = `${group}/v1`

const definitionOf = (plural: string, spec: RandomSchema) => ({
  metadata: { name: `${plural}.${group}` },
  spec: {
    group,
    scope: 'Namespaced',
    names: { plural, kind: kindOf(plural) },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', properties: { spec } } },
      },
    ],
  },
})

const validations = ['Strict', 'Warn', 'Ignore']
const name = 'one'

const writesOf = (collection: string, kind: string, spec: unknown, dice: Dice): Request[] => {
  const body = { apiVersion, kind, metadata: { name }, spec }
  const url = `${collection}/${name}`
  const query = `dryRun=All&fieldValidation=${dice.pick(validations)}`
  const applied = `${url}?${query}&fieldManager=m&force=true`
  return [
    {
      method: 'POST',
      path: `${collection}?${query}`,
      body: { ...body, metadata: { name: 'two' } },
    },
    {
      method: 'PATCH',
      path: `${url}?${query}`,
      body: { spec },
      headers: typed('merge-patch+json'),
    },
    { method: 'PATCH', path: applied, body, headers: typed('apply-patch+yaml') },
    {
      method: 'PATCH',
      path: `${url}?${query}`,
      body: [{ op: 'add', path: '/spec', value: spec }],
      headers: typed('json-patch+json'),
    },
  ]
}

const valuesOfEach = 12

const playResources = async (
  sweep: Sweep,
  plural: string,
  schema: RandomSchema,
  dice: Dice,
): Promise<void> => {
  const collection = `/apis/${apiVersion}/namespaces/${namespace}/${plural}`
  const kind = kindOf(plural)
  await awaitServed(sweep, collection)
  // The rules for what is there already are met once there is something.
  for (let tries = 0; tries < valuesOfEach; tries++) {
    const body = { apiVersion, kind, metadata: { name }, spec: randomValue(schema, dice) }
    const { server, against } = await sweep.prepare({ method: 'POST', path: collection, body })
    if (server.code === 201 && against.code === 201) break
  }
  const shown = { method: 'POST', path: definitions, body: definitionOf(plural, schema) }
  const examples = Array.from({ length: valuesOfEach }, () => randomValue(schema, dice)).flatMap(
    (spec): Example[] =>
      writesOf(collection, kind, spec, dice).map((request) => ({
        where: `custom ${request.method} ${request.headers?.['content-type'] ?? ''}`,
        request,
        before: [shown],
      })),
  )
  await sweep.compareAll(examples)
  await remove(sweep, `${collection}/${name}`)
}

const definitionsAtFullShare = 400
/** So many are looked at for each whose resources are. */
const lookedAt = 5

export const customResources: Part = {
  name: 'definitions',
  play: async (sweep, dice) => {
    const count = Math.ceil(definitionsAtFullShare * sweep.share)
    for (let i = 0; i < count; i++) {
      const schemas = Array.from({ length: lookedAt }, () => randomSchema(dice))
      const plural = `r${sweep.seed}x${i}s`
      await sweep.compareAll(
        schemas.map((schema) => ({
          where: 'definition',
          request: {
            method: 'POST',
            path: `${definitions}?dryRun=All`,
            body: definitionOf(plural, schema),
          },
        })),
      )
      for (const schema of schemas) {
        const body = definitionOf(plural, schema)
        const made = await sweep.prepare({ method: 'POST', path: definitions, body })
        if (made.server.code !== 201 || made.against.code !== 201) continue
        await playResources(sweep, plural, schema, dice)
        break
      }
      await remove(sweep, `${definitions}/${plural}.${group}`)
    }
  },
}
