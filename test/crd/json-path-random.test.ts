/** Paths of chance into documents of chance: each finds what it leads to. */
import t from 'tap'
import { compileJsonPath } from '#crd/json-path.js'
import type { JsonValue } from '#json/value.js'
import { diceOf } from '../dice.js'

const { below, pick, happens } = diceOf(1, 'paths')

const names = ['a', 'b', 'a.b', 'a b', 'x-y', '0', 'constructor', '__proto__', "it's", 'é']
const document = (depth: number): JsonValue => {
  const kind = depth === 0 ? 0 : below(4)
  if (kind < 2) return pick([1, 0, 'x', '', true, 1.5, 'é'])
  const inner = Array.from({ length: 1 + below(3) }, () => document(depth - 1))
  return kind === 2 ? inner : Object.fromEntries(inner.map((value) => [pick(names), value]))
}

/** Dots and spaces are escaped, in quotes as well. */
const escapeName = (name: string): string => name.replace(/[. ]/g, '\\$&')
const fieldStep = (name: string): string =>
  happens(0.5) || name.includes("'") ? `.${escapeName(name)}` : `['${escapeName(name)}']`
const indexStep = (at: number, length: number): string =>
  pick([`[${at}]`, `[${at - length}]`, `[${at}:${at + 1}]`])

const walk = (from: JsonValue): { path: string; value: JsonValue } => {
  let [path, value] = ['', from]
  while (typeof value === 'object' && value !== null && happens(0.9)) {
    if (Array.isArray(value)) {
      const at = below(value.length)
      path += indexStep(at, value.length)
      value = value[at]!
    } else {
      const name = pick(Object.keys(value))
      path += fieldStep(name)
      value = value[name]!
    }
  }
  return { path, value }
}

t.test('a path to a value finds that value alone', async (t) => {
  const wrong: unknown[] = []
  for (let i = 0; i < 3_000; i++) {
    const root = { a: document(4), b: document(4) }
    const { path, value } = walk(root)
    const found = compileJsonPath(path)?.(root)
    if (found?.length !== 1 || found[0] !== value) wrong.push({ path, root, found })
  }
  t.same(wrong, [])
})

t.test('a filter finds the entries that it describes', async (t) => {
  const wrong: unknown[] = []
  for (let i = 0; i < 1_000; i++) {
    const list = Array.from({ length: below(5) }, () => ({ name: pick(['x', 'y']), n: below(4) }))
    const [name, least] = [pick(['x', 'y']), below(4)]
    const expected = [
      [`.l[?(@.name=="${name}")].n`, list.filter((e) => e.name === name).map(({ n }) => n)],
      [`.l[?(@.n>=${least})].name`, list.filter(({ n }) => n >= least).map((e) => e.name)],
      ['.l[*].n', list.map(({ n }) => n)],
    ] as const
    for (const [path, values] of expected) {
      const found = compileJsonPath(path)?.({ l: list })
      if (JSON.stringify(found) !== JSON.stringify(values)) wrong.push({ path, list, found })
    }
  }
  t.same(wrong, [])
})
