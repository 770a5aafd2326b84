/** Selectors of chance: what is printed is read again, and means the same. */
import t from 'tap'
import { formatLabelSelector, type LabelSelector, matchesSelector } from '#api/label-selector.js'
import {
  matchesFields,
  matchesLabels,
  parseFieldSelector,
  parseLabelSelector,
} from '#api/selectors.js'
import { diceOf } from '../dice.js'

const { below, pick, some, happens } = diceOf(1, 'selectors')
const rounds = 2_000

/** Words of the language of selectors among them. */
const keys = ['a', 'b', 'in', 'notin', 'x.io/in', 'A-1']
const values = ['', '1', 'in', 'notin', 'a.b_c', 'X']
const labels = (): Record<string, string> =>
  Object.fromEntries(some(keys).map((key) => [key, pick(values)]))

const requirement = () => {
  const key = pick(keys)
  const operator = pick(['In', 'NotIn', 'Exists', 'DoesNotExist'])
  return operator.endsWith('In')
    ? { key, operator, values: [pick(values), ...some(values)] }
    : { key, operator }
}
const labelSelector = (): LabelSelector => ({
  matchLabels: happens(0.5) ? {} : { [pick(keys)]: pick(values) },
  matchExpressions: Array.from({ length: below(3) }, requirement) as NonNullable<
    LabelSelector['matchExpressions']
  >,
})

t.test('a label selector that is printed selects what it selected', async (t) => {
  const wrong: unknown[] = []
  for (let i = 0; i < rounds; i++) {
    const selector = labelSelector()
    const text = formatLabelSelector(selector)
    const given = labels()
    const expected = matchesSelector(selector, given)
    if (matchesLabels(parseLabelSelector(text), given) !== expected) wrong.push({ text, given })
  }
  t.same(wrong, [])
})

const escaped = (value: string): string => value.replace(/[\\,=]/g, '\\$&')

t.test('a field selector holds any value that is escaped', async (t) => {
  const wrong: unknown[] = []
  const fields = ['metadata.name', 'spec.a', 'b']
  const value = (): string =>
    Array.from({ length: below(5) }, () => pick(['a', '\\', ',', '=', '!', 'é', ' ', '😀'])).join(
      '',
    )
  for (let i = 0; i < rounds; i++) {
    const wanted = some(fields).map((field) => ({
      field,
      operator: pick(['=', '!='] as const),
      value: value(),
    }))
    const text = wanted.map((r) => `${r.field}${r.operator}${escaped(r.value)}`).join(',')
    const byField = (a: { field: string }, b: { field: string }): number =>
      a.field < b.field ? -1 : 1
    const parsed = parseFieldSelector(text).sort(byField)
    const given = new Map(fields.map((field) => [field, value()]))
    for (const { field, value } of wanted) if (happens(0.5)) given.set(field, value)
    const of = (field: string): string => given.get(field) ?? ''
    const isMet = wanted.every((r) => (of(r.field) === r.value) === (r.operator === '='))
    if (
      JSON.stringify(parsed) !== JSON.stringify(wanted.sort(byField)) ||
      matchesFields(parsed, of) !== isMet
    )
      wrong.push({ text, parsed })
  }
  t.same(wrong, [])
})
