import t from 'tap'
import { kinds } from '#kinds/index.js'
import { makeResourceTable } from '#registry/resource-table.js'
import { partialObjectMetadata } from '#registry/table-printer.js'

t.test(
  'annotations that are fields inside of upstream are not shown, the rest where it was',
  (t) => {
    const deployment = makeResourceTable(kinds).byKind({
      group: 'apps',
      version: 'v1',
      kind: 'Deployment',
    })!
    const shown = (annotations: Record<string, string>) => {
      const metadata = { name: 'a', annotations, managedFields: [] }
      const object = { apiVersion: 'apps/v1', kind: 'Deployment', metadata }
      return Object.entries(partialObjectMetadata(object, 'meta.k8s.io/v1', deployment).metadata)
    }
    const field = { 'deprecated.deployment.rollback.to': '1' }
    const kept: [string, unknown][] = [
      ['name', 'a'],
      ['annotations', { b: 'c' }],
      ['managedFields', []],
    ]
    t.same(shown({ ...field, b: 'c' }), kept)
    t.same(
      shown(field),
      kept.filter(([name]) => name !== 'annotations'),
    )
    t.end()
  },
)
