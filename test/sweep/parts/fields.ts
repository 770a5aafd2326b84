/** Fields of each kind set to what they may and may not hold, one at a time and two together, on every way to write. */

import type { Dice } from '../../dice.js'
import { type Api, readApi } from '../api-documents.js'
import { type Change, fieldsOf, valuesFor } from '../fields.js'
import type { Example } from '../report.js'
import { remove, type Subject, subjectsOf, withStored } from '../subjects.js'
import type { Part, Sweep } from '../sweep.js'
import { bodyOf, type Way, ways } from './ways-to-write.js'

/** What stands deep in a template is met in Pods already: one in so many is enough. */
const deepInTemplate = 16
const isDeep = ({ path }: Change): boolean => path.length > 4 && path.includes('template')

export const changesOf = (api: Api, { resource }: Subject, sweep: Sweep, dice: Dice): Change[] =>
  fieldsOf(api, resource.schema)
    .flatMap(({ path, schema }) => valuesFor(api, schema).map((value) => ({ path, value })))
    .filter((change) => !isDeep(change) || dice.oneIn(deepInTemplate))
    .filter(() => dice.happens(sweep.share))

const exampleOf = (way: Way, subject: Subject, changes: readonly Change[]): Example => ({
  where: `${way.name} ${subject.resource.name} ${changes.map(({ path }) => path.join('.')).join(' and ')}`,
  request: way.request(subject, bodyOf(way, subject, changes)),
})

type Chosen = (changes: readonly Change[], dice: Dice) => readonly (readonly Change[])[]

const oneByOne: Chosen = (changes) => changes.map((change) => [change])
const twoTogether: Chosen = (changes, dice) => changes.map((change) => [change, dice.pick(changes)])

const partOf = (name: string, way: Way, chosen: Chosen): Part => ({
  name,
  play: async (sweep, dice) => {
    const api = await readApi(sweep.against)
    for (const subject of subjectsOf(api, sweep)) {
      const { subresource } = way
      if (subresource !== undefined && !subject.resource.subresources.has(subresource)) continue
      const changes = changesOf(api, subject, sweep, dice)
      const examples = chosen(changes, dice).map((some) => exampleOf(way, subject, some))
      if (examples.length === 0) continue
      if (way.isStored) await withStored(sweep, subject, () => sweep.compareAll(examples))
      else {
        await remove(sweep, subject.url)
        await sweep.compareAll(examples)
      }
    }
  },
})

export const singleFields: readonly Part[] = ways.map((way) => partOf(way.name, way, oneByOne))
export const pairsOfFields: readonly Part[] = ways.map((way) =>
  partOf(`${way.name}-pairs`, way, twoTogether),
)
