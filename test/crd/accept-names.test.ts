/** Names of custom resources, and when their definitions are established. */
import t from 'tap'
import { decideNames } from '#crd/definition/accept-names.js'
import type { CustomResourceDefinition, DefinitionCondition } from '#crd/definition/definition.js'

const names = { plural: 'notes', singular: 'note', kind: 'Note', listKind: 'NoteList' }

const definition = (
  acceptedNames: object,
  conditions: readonly Partial<DefinitionCondition>[],
): CustomResourceDefinition =>
  ({
    metadata: { name: 'notes.e.com' },
    spec: { group: 'e.com', scope: 'Cluster', names, versions: [] },
    status: { acceptedNames, conditions },
  }) as unknown as CustomResourceDefinition

const decided = (acceptedNames: object, conditions: readonly Partial<DefinitionCondition>[]) => {
  const { namesAccepted, established } = decideNames(definition(acceptedNames, conditions), [])
  return [namesAccepted?.status, established?.status, established?.reason]
}

t.test('new names are accepted first, then the definition is established', (t) => {
  t.strictSame(decided({ plural: '', kind: '' }, []), ['True', 'False', 'Installing'])
  const accepted = { type: 'NamesAccepted', status: 'True' } as const
  const installing = { type: 'Established', status: 'False', reason: 'Installing' } as const
  const established = ['True', 'True', 'InitialNamesAccepted']
  t.strictSame(decided(names, [accepted, installing]), established)
  t.strictSame(decided(names, [accepted]), established)
  t.end()
})

t.test('whoever has its names and lost its conditions does not get them back', (t) => {
  t.strictSame(decided(names, []), [undefined, undefined, undefined])
  const other = { type: 'Mine', status: 'True' } as unknown as DefinitionCondition
  t.strictSame(decided(names, [other]), [undefined, undefined, undefined])
  t.end()
})
