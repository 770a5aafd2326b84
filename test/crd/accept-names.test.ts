/** Names of custom resources, and when their definitions are established. */
import t from 'tap'
import { decideNames } from '#crd/definition/accept-names.js'
import type {
  CustomResourceDefinition,
  DefinitionCondition,
  DefinitionNames,
} from '#crd/definition/definition.js'
import { validateNames } from '#crd/definition/validate-names.js'

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
  const { namesAccepted, established } = decideNames(
    definition(acceptedNames, conditions),
    () => [],
  )
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

t.test('what a definition has as one name it cannot take as another', (t) => {
  const has = { ...names, shortNames: ['n'] }
  const asking = (wanted: object) => {
    const one = definition(has, [])
    one.spec.names = { ...has, ...wanted }
    const { acceptedNames, namesAccepted } = decideNames(one, () => [one])
    return [acceptedNames.singular, acceptedNames.shortNames, namesAccepted?.message]
  }
  t.strictSame(asking({ shortNames: ['n', 'o'] }), ['note', ['n', 'o'], 'no conflicts found'])
  t.strictSame(asking({ singular: 'n' }), ['note', ['n'], '"n" is already in use'])
  t.strictSame(asking({ shortNames: ['note', 'notes', 'note'] }), [
    'note',
    ['n'],
    '["note" is already in use, "notes" is already in use]',
  ])
  t.end()
})

t.test('a status may only say names that a definition may ask for; none are needed', (t) => {
  const refused = (accepted: Partial<DefinitionNames>) =>
    validateNames(accepted as DefinitionNames, 'names').map(({ field }) => field)
  t.strictSame(refused({ plural: '', kind: '' }), [])
  const wrong = { plural: 'A', singular: 'b c', kind: 'D_', listKind: 'D_' }
  t.strictSame(refused({ ...wrong, shortNames: ['a', ''], categories: ['B'] }), [
    ...['plural', 'singular', 'kind', 'listKind', 'shortNames[1]', 'listKind', 'categories[0]'].map(
      (name) => `names.${name}`,
    ),
  ])
  t.end()
})
