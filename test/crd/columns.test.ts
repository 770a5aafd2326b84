/** Cells of custom resources' tables, as kube-apiserver answered for the same paths and values. */
import t from 'tap'
import type { KubeObject } from '#api/object.js'
import { customTable } from '#crd/columns.js'
import { customRows } from '#crd/custom-rows.js'
import type { CustomResourceDefinition, DefinitionVersion } from '#crd/definition/definition.js'
import { compileJsonPath } from '#crd/json-path.js'
import type { JsonValue } from '#json/value.js'
import { readRecorded } from '../recorded.js'

const cellOf = (jsonPath: string, type: string, spec: JsonValue): unknown => {
  const additionalPrinterColumns = [{ name: 'C', type, jsonPath }]
  const version = { name: 'v1', additionalPrinterColumns } as DefinitionVersion
  const object = { apiVersion: 'x/v1', kind: 'X', metadata: { name: 'a' }, spec } as KubeObject
  return customTable(version).cells(object, 0)[1]
}

t.test('slices of lists: what is out of bounds is nothing', async (t) => {
  const l = [{ x: 1 }, { x: 2 }, { x: 3 }]
  const cases: [slice: string, cell: string | null][] = [
    ['-1:', '3'],
    [':1', '1'],
    ['1:', '2'],
    ['1:2', '2'],
    ['::2', '1'],
    ['-2:-1', '2'],
    [':-1', '1'],
    ['1:3:2', '2'],
    ['0:9', null],
    ['2:1', null],
    ['1:1', null],
    ['-9:', null],
    ['5:', null],
    ['3:', null],
  ]
  for (const [slice, cell] of cases)
    t.equal(cellOf(`.spec.l[${slice}].x`, 'string', { l }), cell, slice)
})

t.test('several of a list or an object, and what is anywhere below', async (t) => {
  const m: JsonValue = [
    { n: 'a', v: 1, k: ['x'] },
    { n: 'b', v: 2 },
  ]
  const spec = { l: ['a', 'b', 'c'], o: { x: 'X', y: 'Y' }, q: { zz: ['in'] }, zz: 'top', m }
  const cases: [path: string, cell: string | null][] = [
    ['.spec.l[2,0]', 'c'],
    ['.spec.l[2,9]', null],
    [".spec.o['y','x']", 'Y'],
    [".spec['o.x']", 'X'],
    ['..zz', 'top'],
    ['.spec.q..[0]', null],
    ['.spec.q[*][0]', null],
    ['.spec.m[*].k[0]', 'x'],
    ['.spec.m[*].n[0]', null],
    ['.spec.m[?(@.v>1)].n', 'b'],
    ['.spec.m[?(@.n>1)].n', null],
    ['.spec.m[?(@.v==1.5)].n', null],
  ]
  for (const [path, cell] of cases) t.equal(cellOf(path, 'string', spec), cell, path)
})

t.test('texts are what Go prints', async (t) => {
  const cases: [value: JsonValue, cell: string][] = [
    [null, '<no value>'],
    [1000000, '1000000'],
    [1.5e-7, '1.5e-07'],
    [12345678.5, '1.23456785e+07'],
    [9007199254740993n, '9007199254740993'],
    [true, 'true'],
    [{ a: 1, b: '<&>' }, '{"a":1,"b":"\\u003c\\u0026\\u003e"}'],
  ]
  for (const [value, cell] of cases) t.equal(cellOf('.spec.v', 'string', { v: value }), cell)
  t.equal(cellOf('.spec.v', 'integer', { v: null }), null)
})

t.test('integers are those of 64 bits', async (t) => {
  const least = -9223372036854775808n as JsonValue
  const cases: [value: JsonValue, cell: JsonValue][] = [
    [1.9, 1],
    [-1.9, -1],
    [9007199254740993n, 9007199254740993n],
    [9223372036854775807n, 9223372036854775807n],
    [1e30, least],
    [-1e30, least],
    [2 ** 63, least],
  ]
  for (const [value, cell] of cases) t.equal(cellOf('.spec.v', 'integer', { v: value }), cell)
})

t.test('a date is one of RFC 3339, whatever JavaScript takes for one', async (t) => {
  for (const [value, cell] of [
    ['1', '<invalid>'],
    ['', '<unknown>'],
    ['null', '<unknown>'],
    ['0001-01-01T01:00:00+01:00', '<unknown>'],
    ['2020-01-01', '<invalid>'],
    ['1970-01-01T00:00:00Z', '0s'],
    [1, null],
  ])
    t.equal(cellOf('.spec.v', 'date', { v: value as JsonValue }), cell, String(value))
})

t.test('columns end before the first whose path is none', async (t) => {
  const additionalPrinterColumns = ['.a', '.b[ 0 ]', '.c'].map((jsonPath) => ({
    name: jsonPath,
    type: 'string',
    jsonPath,
  }))
  const version = { name: 'v1', additionalPrinterColumns } as DefinitionVersion
  t.same(
    customTable(version).columns.map(({ name }) => name),
    ['Name', '.a'],
  )
})

t.test('a star finds the bytes of a text', (t) => {
  t.equal(cellOf('.spec.s.*', 'string', { s: 'y' }), '121')
  t.equal(cellOf('.spec.s.*', 'string', { s: 'é' }), '195')
  t.equal(cellOf('.spec.s.*', 'string', { s: '' }), null)
  t.end()
})

t.test('a field that selectors name may hold anything where its schema came later', (t) => {
  const version = {
    name: 'v1',
    served: true,
    storage: true,
    selectableFields: [{ jsonPath: '.spec' }],
  }
  const names = { plural: 'as', kind: 'A' }
  const [row] = customRows({
    metadata: { name: 'as.x.io', resourceVersion: '1' },
    spec: { group: 'x.io', scope: 'Cluster', names, versions: [version] },
    status: { acceptedNames: names },
  } as CustomResourceDefinition)
  const valueIn = (spec?: JsonValue) =>
    row!.selectableFields!.spec!({ spec } as unknown as KubeObject)
  t.same(
    [valueIn(), valueIn(null), valueIn('a'), valueIn(7), valueIn(true)],
    ['', '', 'a', '7', 'true'],
  )
  t.equal(valueIn({ toString: 1, valueOf: [2, null] }), 'map[toString:1 valueOf:[2 <nil>]]')
  t.end()
})

t.test('long paths, and such as find one thing in very many ways', async (t) => {
  let deep: JsonValue = 'end'
  for (let i = 0; i < 500; i++) deep = { a: deep }
  t.equal(cellOf(`.spec['${'a.'.repeat(199_999)}a']`, 'string', { a: 1 }), null)
  t.equal(cellOf('..a'.repeat(500), 'string', deep), 'end')
  let lists: JsonValue = 'end'
  for (let i = 0; i < 40; i++) lists = [lists]
  t.equal(cellOf(`.spec.l${'[0,0]'.repeat(10)}${'[0]'.repeat(30)}`, 'string', { l: lists }), 'end')
  t.equal(cellOf(`.spec.l${'[0,0]'.repeat(40)}`, 'string', { l: lists }), null)
})

t.test('a path finds what client-go finds, or is none to it', async (t) => {
  const { object, paths } = readRecorded<{
    object: JsonValue
    paths: { path: string; found?: JsonValue[] }[]
  }>('crd/paths')
  for (const { path, found } of paths) t.same(compileJsonPath(path)?.(object), found, path)
})
