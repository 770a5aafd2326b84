/** Field sets of chance against sets of paths: what is written is read again, and the algebra is that of sets. */
import t from 'tap'
import {
  difference,
  type FieldSet,
  intersection,
  pathsOf,
  recursiveDifference,
  union,
} from '#registry/field-manager/field-set.js'
import {
  type Owner,
  readManagedFields,
  writeManagedFields,
} from '#registry/field-manager/managed-fields.js'
import { printPath } from '#registry/field-manager/path-element.js'
import { diceOf } from '../dice.js'

const { below, pick, happens } = diceOf(1, 'field sets')

const texts = ['a', 'b', 'a b', '"q\\', 'é', '<', '\u2028', '\n', '']
/** None is another one in other words, but for spaces. */
const values = [
  ...texts.map((text) => JSON.stringify(text)),
  ...['0', '1.5', '1e-07', '80', '8080', 'true', 'false', 'null', '[]', '[1,"a"]', '[1]', '{}'],
  ...['{"a":1}', '{"a":1,"b":null}', '{"b":1}', '[[]]', '[{"a":1}]'],
]
const spaced = (text: string): string => (happens(0.1) ? ` ${text} ` : text)
const element = (): string => {
  const kind = below(10)
  if (kind < 5) return `f:${pick(texts)}`
  if (kind === 5) return `i:${below(12)}`
  if (kind < 8) return `v:${spaced(pick(values))}`
  const port = happens(0.5) ? [`"port":${pick(values)}`] : []
  return `k:{${[`"name":${spaced(pick(values))}`, ...port].sort(() => (happens(0.5) ? -1 : 1)).join(',')}}`
}
const fields = (depth: number): FieldSet => {
  const set: FieldSet = happens(0.4) ? { '.': {} } : {}
  for (let n = depth === 0 ? 0 : below(5); n > 0; n--) set[element()] = fields(depth - 1)
  return set
}

const read = (fieldsV1: FieldSet): FieldSet => {
  const entry = { operation: 'Update', apiVersion: 'v1', fieldsType: 'FieldsV1', fieldsV1 } as const
  return [...readManagedFields([entry]).values()][0]!.set
}
const write = (set: FieldSet): FieldSet => {
  const owner: Owner = {
    manager: 'm',
    operation: 'Update',
    apiVersion: 'v1',
    subresource: '',
    time: undefined,
    set,
  }
  return writeManagedFields(new Map([['m', owner]]))![0]!.fieldsV1!
}
/** Without what comes twice in other words, so that one path is one member. */
const someSet = (): FieldSet => read(fields(3))
const pathTexts = (set: FieldSet): string[] => pathsOf(set).map((path) => JSON.stringify(path))

const rounds = 1_000

t.test('what is written is read as it was, and written as it was', async (t) => {
  const wrong: string[] = []
  for (let i = 0; i < rounds; i++) {
    const set = someSet()
    const text = JSON.stringify(write(set))
    const again = read(JSON.parse(text) as FieldSet)
    const isSame = pathTexts(again).join() === pathTexts(set).join()
    if (!isSame || JSON.stringify(write(again)) !== text) wrong.push(text)
  }
  t.same(wrong, [])
})

t.test('union, intersection and difference are those of sets of paths', async (t) => {
  const wrong: unknown[] = []
  for (let i = 0; i < rounds; i++) {
    const a = someSet()
    const b = happens(0.5) ? someSet() : union(a, someSet())
    const [ofA, ofB] = [pathTexts(a), pathTexts(b)]
    const held = new Set(ofB)
    const lies = (path: string): boolean =>
      (JSON.parse(path) as string[]).some((_, n, all) =>
        held.has(JSON.stringify(all.slice(0, n + 1))),
      )
    const expected = {
      union: [union(a, b), [...ofA, ...ofB]],
      intersection: [intersection(a, b), ofA.filter((path) => held.has(path))],
      difference: [difference(a, b), ofA.filter((path) => !held.has(path))],
      recursiveDifference: [recursiveDifference(a, b), ofA.filter((path) => !lies(path))],
    } as const
    for (const [name, [got, wanted]] of Object.entries(expected))
      if (pathTexts(got).sort().join() !== [...new Set(wanted)].sort().join())
        wrong.push({ name, a, b, got })
  }
  t.same(wrong, [])
})

// Compare of upstream's package value: numbers, texts, booleans, lists, maps, null.
t.test('values of every sort have an order, which is upstream’s', async (t) => {
  const ordered = ['0', '1.5', '"a"', '"b"', 'false', 'true', '[]', '[1]', '[1,"a"]', '[[]]', '{}']
  const all = [...ordered, '{"a":1}', '{"a":1,"b":null}', '{"b":1}', 'null']
  const set = Object.fromEntries(all.toReversed().map((value) => [`v:${value}`, {}]))
  t.same(
    Object.keys(write(read(set))),
    all.map((value) => `v:${value}`),
  )
})

// String of upstream's PathElement: %q, and names as they are.
t.test('a path quotes what is no field as Go does', async (t) => {
  t.equal(
    printPath(['f:a\u0001', 'v:"a\\u0001\u2028"', 'k:{"<":"<"}']),
    '.a\u0001[="a\\x01\\u2028"][<="<"]',
  )
  t.equal(JSON.stringify(write(read({ 'k:{"<":1e-7}': {} }))), '{"k:{\\"<\\":1e-07}":{}}')
})
