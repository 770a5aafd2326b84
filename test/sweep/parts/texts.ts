/** Bodies as text: keys that come twice, that nobody knows or in other letters, and YAML in every dress, under each fieldValidation. */
import { stringify } from 'yaml'
import type { Dice } from '../../dice.js'
import { readApi } from '../api-documents.js'
import type { Change, Path } from '../fields.js'
import type { Example } from '../report.js'
import { type Subject, subjectsOf, withStored } from '../subjects.js'
import type { Part } from '../sweep.js'
import { changesOf } from './fields.js'
import { bodyOf, type Way, ways } from './ways-to-write.js'

const validations = ['Strict', 'Warn', 'Ignore'] as const
const hole = 'hole-for-text'

const holed = (way: Way, subject: Subject, path: Path): unknown =>
  bodyOf(way, subject, [{ path, value: hole }])

/** What may stand in JSON where a value of a key is awaited. */
const jsonTexts = ({ path, value }: Change, dice: Dice): string => {
  const [key, text] = [JSON.stringify(String(path.at(-1))), JSON.stringify(value)]
  return dice.pick([
    `${text},${key}:${text}`,
    `${text},${key}:null`,
    `null,${key}:${text}`,
    `${text},"unknown":1`,
    `${text},"unknown":{"a":1,"a":2},"other":[]`,
    `${text},${key.toUpperCase()}:${text}`,
    `{"unknown":1,"unknown":2,"name":"a","name":"b"}`,
    `[{"unknown":1},{"name":"a","unknown":1,"name":"b"}]`,
    `[{"name":"a","name":"b"},{"name":"c","name":"c"}]`,
    `${text},"":1`,
    `${text},"a.b":1,"é":2`,
  ])
}

const yamlTexts = [
  ...'yes no y n on OFF True TRUE ~ null Null NULL 0o17 010 0x1F 0b11 1_000 +1 -0 1:30 .inf -.inf .nan'.split(
    ' ',
  ),
  ...'1.0 .5 5. 0.1e-2 1e3 1E400 12345678901234567890 2001-01-01 2001-01-01T00:00:00Z'.split(' '),
  ...['!!str 5', '!!int "5"', '!!binary YQ==', '!x y', '!!float 1', '*a', '&a x', '[&a x, *a]'],
  ...[
    '"\\x41\\u00e9\\0"',
    "'it''s'",
    '"',
    "'",
    '[a, b',
    '{a: b}',
    '{a: , b}',
    '[,]',
    '[a,]',
    '{a, b}',
  ],
  ...[
    '- x',
    '@x',
    '`x',
    '%x',
    '? a',
    ':',
    'a: b',
    'a:b',
    'a #b',
    'a#b',
    '# c',
    '=',
    '<<',
    '|',
    '>',
    '| x',
  ],
  ...[
    '{<<: {a: b}}',
    '{<<: [{a: b}], a: c}',
    '{1: a}',
    '{yes: a}',
    '{null: a}',
    '{1.5: a}',
    '{a: b, a: c}',
  ],
  ...[
    '{? [a] : b}',
    '{unknown: 1}',
    '{unknown: 1, unknown: 2}',
    '"a\\\n  b"',
    'a\tb',
    '\tx',
    'é',
    '\u0085',
    '',
  ],
]

const yamlWays: readonly Way[] = ways
  .filter(({ name }) => ['create', 'update', 'apply', 'apply-new'].includes(name))
  .map((way) => ({
    ...way,
    request: (subject, body, query) => {
      const request = way.request(subject, body, query)
      return { ...request, headers: { 'content-type': 'application/yaml', ...request.headers } }
    },
  }))

type Write = (way: Way, subject: Subject, change: Change, dice: Dice) => string

const asJson: Write = (way, subject, change, dice) =>
  JSON.stringify(holed(way, subject, change.path)).replace(`"${hole}"`, () =>
    jsonTexts(change, dice),
  )

const asYaml: Write = (way, subject, { path }, dice) => {
  const text = stringify(holed(way, subject, path)).replace(hole, () => dice.pick(yamlTexts))
  return dice.pick([
    text,
    text,
    text,
    `---\n${text}`,
    `${text}---\na: b\n`,
    `%YAML 1.1\n---\n${text}...\n`,
    text.replaceAll('\n', '\r\n'),
    `\uFEFF${text}`,
  ])
}

const partOf = (name: string, some: readonly Way[], write: Write): Part => ({
  name,
  play: async (sweep, dice) => {
    const api = await readApi(sweep.against)
    for (const subject of subjectsOf(api, sweep)) {
      const examples = changesOf(api, subject, sweep, dice).map((change): Example => {
        const way = dice.pick(some)
        const query = `&fieldValidation=${dice.pick(validations)}`
        return {
          where: `${name} ${way.name} ${subject.resource.name} ${change.path.join('.')}`,
          request: way.request(subject, write(way, subject, change, dice), query),
        }
      })
      if (examples.length > 0) await withStored(sweep, subject, () => sweep.compareAll(examples))
    }
  },
})

const jsonWays = ways.filter(({ name }) => !['table', 'status', 'apply-new'].includes(name))

export const texts: readonly Part[] = [
  partOf('keys', jsonWays, asJson),
  partOf('yaml', yamlWays, asYaml),
]
