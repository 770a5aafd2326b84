/** Values as large as a request may be: each is judged in one walk, as nobody else is answered meanwhile. */
import t from 'tap'
import type { KubeObject } from '#api/object.js'
import { customTable } from '#crd/columns.js'
import type { CustomResourceDefinition, DefinitionVersion } from '#crd/definition/definition.js'
import { validateDefinition } from '#crd/definition/validate-definition.js'
import { validateValue } from '#crd/validate-value.js'

const numbers = (count: number): number[] => Array.from({ length: count }, (_none, i) => i)

t.test('a list that is wrong in every item', async (t) => {
  const count = 50_000
  const texts = { type: 'array', items: { type: 'string' } }
  const errors = validateValue(numbers(count), texts, 'l')
  t.equal(errors.length, count)
  t.match(errors.at(-1), { field: `l[${count - 1}]`, body: /must be of type string: "integer"/ })
})

t.test('a column that finds more than a call has arguments', async (t) => {
  const additionalPrinterColumns = [{ name: 'C', type: 'integer', jsonPath: '.spec.l[*]' }]
  const version = { name: 'v1', additionalPrinterColumns } as DefinitionVersion
  const spec = { l: numbers(300_000) }
  const object = { apiVersion: 'x/v1', kind: 'X', metadata: { name: 'a' }, spec } as KubeObject
  t.equal(customTable(version).cells(object, 0)[1], 0)
})

t.test('a definition that is wrong in every property', async (t) => {
  const count = 20_000
  const properties = Object.fromEntries(numbers(count).map((i) => [`p${i}`, { type: 'wrong' }]))
  const errors = validateDefinition({
    metadata: { name: 'as.x.io' },
    spec: {
      ...{ group: 'x.io', scope: 'Cluster' },
      names: { plural: 'as', singular: 'a', kind: 'A', listKind: 'AList' },
      versions: [
        {
          ...{ name: 'v1', served: true, storage: true },
          schema: { openAPIV3Schema: { type: 'object', properties } },
        },
      ],
    },
    status: { storedVersions: ['v1'], acceptedNames: { plural: 'as', kind: 'A' } },
  } as unknown as CustomResourceDefinition)
  t.equal(errors.length, count)
  t.match(errors[0], { type: 'FieldValueNotSupported', field: /properties\[p0\]\.type$/ })
})
