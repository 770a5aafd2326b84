/** Objects with tens of thousands of parts, each of which could be told with each: they cost as much as they are long. */
import t from 'tap'
import type { JsonObject } from '#json/value.js'
import { capOwners } from '#registry/field-manager/cap-owners.js'
import { conflictStatus } from '#registry/field-manager/conflict-status.js'
import { emptySet, pathsOf, setOfPath } from '#registry/field-manager/field-set.js'
import { fieldTypeOf } from '#registry/field-manager/field-type.js'
import {
  identityOf,
  type Owner,
  readManagedFields,
} from '#registry/field-manager/managed-fields.js'
import { ownersAfterUpdate } from '#registry/field-manager/updater.js'
import { mismatchOf } from '#registry/field-manager/validate-typed.js'
import { validateMeta } from '#registry/validate-object-meta.js'
import { validateFieldManager } from '#registry/validate-options.js'
import { volumeWarnings } from '#validation/pod/volume-warnings.js'
import { startApiServer } from '../routes/api-server.js'

const configMaps = '/api/v1/namespaces/x/configmaps'
const many = <T>(part: (i: number) => T): T[] => Array.from({ length: 25_000 }, (_, i) => part(i))

t.test('owners: equal ones are kept once, and of controllers too many some are told', async (t) => {
  const { api } = await startApiServer(t)
  const owner = (i: number) => ({ apiVersion: 'v1', kind: 'Pod', name: `p${i}`, uid: `u${i}` })
  const create = (name: string, ownerReferences: object[]) =>
    api.send('POST', configMaps, { body: { metadata: { name, ownerReferences } } })
  const kept = await create('owned', [...many(owner), owner(7)])
  t.equal(kept.code, 201)
  t.equal(kept.body.metadata.ownerReferences.length, 25_000)
  const refused = await create(
    'ruled',
    many((i) => ({ ...owner(i), controller: true })),
  )
  t.equal(refused.code, 422)
  t.equal(refused.body.details.causes.length, 10)
  t.match(refused.body.details.causes[9].message, /references for Pod\/p0 and Pod\/p10$/)
})

t.test(
  'files: only those that overlap are told of, and not more than an answer holds',
  async (t) => {
    const warnings = (items: { path: string }[]) =>
      volumeWarnings('volumes', [{ name: 'v', secret: { secretName: 's', items } }])
    const told = (a: string, b: string) =>
      `volume "v" (Secret "s"): overlapping paths: "${a}" with "${b}"`
    const apart = many((i) => ({ path: `f${i}` }))
    t.same(warnings([...apart, { path: 'f3/x/' }, { path: 'f1' }]), [
      told('f3/x', 'f3'),
      told('f1', 'f1'),
    ])
    t.same(warnings([{ path: 'a/b' }, { path: 'a-b' }, { path: 'a' }, { path: 'a/b/c' }]), [
      told('a', 'a/b'),
      told('a/b/c', 'a/b'),
      told('a/b/c', 'a'),
    ])
    t.same(warnings(many(() => ({ path: 'same' }))), [told('same', 'same')])
    t.ok(warnings(many((i) => ({ path: `a${'/a'.repeat(i % 50)}` }))).length < 200)
    const below = many((i) => ({ path: `a${i}/x` }))
    const folders = warnings([...below, ...many((i) => ({ path: `a${i}` }))])
    t.equal(folders[0], told('a0', 'a0/x'))
    t.ok(folders.length < 200)
    t.equal(warnings([...below, ...many(() => ({ path: 'a7' }))]).length, 2)
  },
)

const updater = (manager: string, key: string, subresource = ''): [string, Owner] => {
  const entry = { manager, operation: 'Update', apiVersion: 'v1', subresource }
  const set = setOfPath('f:data', `f:${key}`)
  return [identityOf(entry as Owner), { ...entry, time: undefined, set } as Owner]
}

t.test('owners by update: all but ten of a hundred thousand become one', async (t) => {
  const owners = new Map(Array.from({ length: 100_000 }, (_, i) => updater(`m${i}`, `k${i}`)))
  capOwners(owners)
  const [ancient, ...others] = [...owners.values()].sort(
    (a, b) => pathsOf(b.set).length - pathsOf(a.set).length,
  )
  t.match(ancient, { manager: 'ancient-changes', operation: 'Update', apiVersion: 'v1' })
  t.equal(others.length, 9)
  t.equal(pathsOf(ancient!.set).length, 100_000 - 9)
})

t.test(
  'owners by update: merged ones that are not the oldest go when it is their turn',
  async (t) => {
    const names = ['A', 'ancient-changes', ...Array.from({ length: 9 }, (_, i) => `m${i}`)]
    const owners = new Map(names.map((name) => updater(name, name)))
    capOwners(owners)
    t.same(
      [...owners.values()].map(({ manager }) => manager),
      names.filter((name) => name !== 'ancient-changes'),
    )
    // With one more there is a next, which the oldest is merged with.
    const more = new Map([...names, 'm9'].map((name) => updater(name, name)))
    capOwners(more)
    const ancient = [...more.values()].find(({ manager }) => manager === 'ancient-changes')
    t.equal(more.size, 10)
    t.same(pathsOf(ancient!.set), [
      ['f:data', 'f:A'],
      ['f:data', 'f:m0'],
    ])
  },
)

t.test(
  'owners by update: of one manager in one second, that of a subresource is the older',
  async (t) => {
    const others = Array.from({ length: 8 }, (_, i) => updater(`m${i}`, `k${i}`))
    const main = updater('a', 'main')
    const owners = new Map([updater('A', 'first'), main, updater('a', 'part', 'status'), ...others])
    capOwners(owners)
    t.same(
      [...owners.keys()],
      [main[0], ...others.map(([identity]) => identity), updater('ancient-changes', '')[0]],
    )
  },
)

t.test('conflicts: each of a million fields is listed, by owner', async (t) => {
  const ownerOf = (manager: string) => ({
    manager,
    operation: 'Update' as const,
    apiVersion: 'v1',
    subresource: '',
    set: new Map(),
    time: undefined,
  })
  const [late, early] = [ownerOf('z'), ownerOf('a')]
  const conflicts = Array.from({ length: 1_000_000 }, (_, i) => ({
    owner: i % 2 === 0 ? late : early,
    path: ['f:data', `f:k${i}`],
  }))
  const { message, details } = conflictStatus(conflicts as never).status
  t.equal(details!.causes!.length, conflicts.length)
  const lines = message!.split('\n')
  t.same(
    [lines[0], lines[1], lines[500_000], lines[500_001], lines.at(-1), lines.length],
    [
      'Apply failed with 1000000 conflicts: conflicts with "a" using v1:',
      '- .data.k1',
      '- .data.k999999',
      'conflicts with "z" using v1:',
      '- .data.k999998',
      1_000_002,
    ],
  )
})

t.test(
  'a name of a manager is shown for each of its wrong characters unless it is too long',
  async (t) => {
    const causesOf = (manager: string) => validateFieldManager(manager, 'm').map(({ body }) => body)
    t.same(causesOf('a\n\0'), [
      String.raw`Invalid value: "a\n\x00": invalid character U+000A (at position 1)`,
      String.raw`Invalid value: "a\n\x00": invalid character U+0000 (at position 2)`,
    ])
    const long = causesOf(`a${'\0'.repeat(1_000_000)}`)
    t.equal(long.length, 2)
    t.equal(long[0], 'Too long: may not be more than 128 bytes')
    t.match(long[1]!, /": invalid character U\+0000 \(at position 1\)$/)
    const managedFields = many(() => ({ manager: '\0'.repeat(127), operation: 'Update' as const }))
    const errors = validateMeta({ name: 'a', managedFields }, false, () => [])
    t.ok(errors.length < 11_000)
  },
)

t.test('what is wrong under a long name is told as far as an answer holds it', async (t) => {
  const long = 'k'.repeat(1_000_000)
  const type = fieldTypeOf('io.k8s.api.core.v1.Pod')
  const env = many((i) => ({ name: `e${i}`, value: i }))
  const pod = { spec: { containers: [{ name: long, env }] } }
  const mismatch = mismatchOf(pod, type, { allowDuplicates: false })!
  t.match(mismatch, /k"\]\.env\[name="e20"\]\.value: expected string/)
  t.ok(mismatch.length < 30_000_000)
  const owner = { manager: 'm', operation: 'Apply', apiVersion: 'v1', subresource: '' } as Owner
  const conflicts = many((i) => ({ owner, path: ['f:data', `f:${long}`, `f:k${i}`] }))
  const { message, details } = conflictStatus(conflicts).status
  t.match(message, /^Apply failed with 25000 conflicts: conflicts with "m":\n- \.data\.k+\.k0\n/)
  t.equal(details!.causes!.length, 26)
})

t.test('what a write changes is taken from each of very many owners', async (t) => {
  const type = fieldTypeOf('io.k8s.api.core.v1.ConfigMap')
  const versions = {
    typeOf: () => type,
    convert: (o: JsonObject) => o,
    resetFields: () => emptySet,
  }
  const owners = readManagedFields(
    many((i) => ({
      manager: `m${i}`,
      operation: 'Apply' as const,
      apiVersion: 'v1',
      fieldsType: 'FieldsV1' as const,
      fieldsV1: { 'f:data': { [`f:c${i}`]: {}, 'f:stays': {} } },
    })),
  )
  const data = (name: string, value: string) =>
    Object.fromEntries(many((i) => [`${name}${i}`, value]))
  const live = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    data: { ...data('c', '1'), ...data('r', '1') },
  }
  const next = { ...live, data: { ...data('c', '2'), ...data('a', '1') } }
  const after = ownersAfterUpdate({ versions, live, apiVersion: 'v1', owners }, next)
  t.equal(after.owners.size, 25_000)
  const stays = { 'f:data': { 'f:stays': {} } }
  t.ok([...after.owners.values()].every(({ set }) => JSON.stringify(set) === JSON.stringify(stays)))
  t.equal(Object.keys(after.changed['f:data'] as object).length, 50_000)
})
