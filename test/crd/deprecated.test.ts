import t from 'tap'
import { customRows } from '#crd/custom-rows.js'
import type { CustomResourceDefinition } from '#crd/definition/definition.js'
import { validateDefinition } from '#crd/definition/validate-definition.js'

t.test('a deprecated version names the best of those that are better', (t) => {
  const version = (name: string, more: object = {}) => ({
    ...{ name, served: true, storage: name === 'v1' },
    schema: { openAPIV3Schema: { type: 'object' } },
    ...more,
  })
  const deprecated = { deprecated: true }
  const warnings = (...versions: object[]): (string | undefined)[] => {
    const names = { plural: 'things', kind: 'Thing' }
    const rows = customRows({
      spec: { group: 'e.com', scope: 'Cluster', names, versions },
      status: { acceptedNames: names },
      metadata: { name: 'things.e.com' },
    } as unknown as CustomResourceDefinition)
    return rows.map(({ deprecationWarning }) => deprecationWarning)
  }
  t.strictSame(
    warnings(
      version('v1beta1', deprecated),
      version('v1'),
      version('v2'),
      version('v3alpha1', deprecated),
      version('v3', { served: false }),
      version('v4', deprecated),
      version('v0', { ...deprecated, deprecationWarning: 'own words' }),
    ),
    [
      'e.com/v1beta1 Thing is deprecated; use e.com/v2 Thing',
      undefined,
      undefined,
      'e.com/v3alpha1 Thing is deprecated; use e.com/v2 Thing',
      'e.com/v4 Thing is deprecated',
      'own words',
    ],
  )
  t.end()
})

t.test('words that no version may be deprecated with are printed as JSON', (t) => {
  const version = {
    ...{ name: 'v1', served: true, storage: true, deprecated: true },
    deprecationWarning: 'for <all>\u0007',
    schema: { openAPIV3Schema: { type: 'object' } },
  }
  const names = { plural: 'things', singular: 'thing', kind: 'Thing', listKind: 'ThingList' }
  const errors = validateDefinition({
    metadata: { name: 'things.e.com' },
    spec: { group: 'e.com', scope: 'Cluster', names, versions: [version] },
    status: { storedVersions: ['v1'] },
  } as unknown as CustomResourceDefinition)
  const wrong = errors.find(({ field }) => field.endsWith('deprecationWarning'))
  t.match(wrong?.body, String.raw`Invalid value: "for \u003call\u003e\u0007": must only contain`)
  t.end()
})
