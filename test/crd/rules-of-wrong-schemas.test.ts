/** Rules are compiled unless something is wrong with their schema or one in it, as kube-apiserver 1.36.3 answered. */
import t from 'tap'
import { validateWords } from '#crd/definition/validate-words.js'
import { validateRules } from '#crd/rules/validate-rules.js'
import type { StructuralSchema } from '#crd/structural-schema.js'

const wrongRule = { 'x-kubernetes-validations': [{ rule: 'nothing' }] }

/** The paths of what is wrong with a field, and of its rules that were compiled. */
const wrongOf = (a: StructuralSchema): { words: string[]; rules: string[] } => {
  const schema = { type: 'object', properties: { a } }
  const { errors, broken } = validateWords(schema, 'schema')
  const inField = (field: string): string => field.replace('schema.properties[a]', 'a')
  return {
    words: errors.map(({ field }) => inField(field)),
    rules: validateRules(schema, 'schema', { broken, isUnchanged: false }).map(({ field }) =>
      inField(field.replace('.x-kubernetes-validations[0].rule', '')),
    ),
  }
}

t.test('what is wrong inside keeps rules from being compiled', async (t) => {
  const items = { type: 'object', properties: { b: { type: 'nope' } }, ...wrongRule }
  t.strictSame(wrongOf({ type: 'array', items, ...wrongRule }), {
    words: ['a.items.properties[b].type'],
    rules: [],
  })
})

t.test(
  'what is wrong with a list keeps those of its items from nothing, though told of them',
  async (t) => {
    const set: StructuralSchema = {
      type: 'array',
      items: { type: 'object', ...wrongRule },
      'x-kubernetes-list-type': 'set',
      ...wrongRule,
    }
    t.strictSame(wrongOf(set), { words: ['a.items.x-kubernetes-map-type'], rules: ['a.items'] })
    const map: StructuralSchema = {
      type: 'array',
      items: { type: 'object', properties: { k: { type: 'integer', ...wrongRule } } },
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['k'],
      ...wrongRule,
    }
    t.strictSame(wrongOf(map), {
      words: ['a.items.properties[k].default'],
      rules: ['a.items.properties[k]'],
    })
  },
)
