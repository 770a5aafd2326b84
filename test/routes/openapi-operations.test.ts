/** The operations that the resource table makes are those of the reference. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { kinds } from '#kinds/index.js'
import { discoveryOperations } from '#openapi/discovery-operations.js'
import { type Operation, resourceOperations } from '#openapi/operations.js'
import { makeResourceTable } from '#registry/resource-table.js'
import { schemaNameOf } from '#routes/openapi-schemas.js'

interface Fact {
  path: string
  method: string
  id: string
  action: string | null
  gvk: object | null
  params: string[]
  body: string | null
  responses: Record<string, string | null>
  consumes: string[] | null
  produces: string[]
  tags: string[]
}

const facts = JSON.parse(
  readFileSync(new URL('../../../openapi/data/operations.json', import.meta.url), 'utf8'),
) as Fact[]

// The facts name shared parameters by reference, `limit-1NfNmdNH` cut short, and others as `query:dryRun`.
const parameterName = (name: string) => name.replace(/^\w+:/, '').replace(/-.*$/, '')
const bodies: Record<string, string> = {
  'body-2Y1dVQaQ': 'io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions',
  'body-78PwaGsr': 'io.k8s.apimachinery.pkg.apis.meta.v1.Patch',
}

const fromFact = (fact: Fact) => ({
  id: fact.id,
  action: fact.action ?? undefined,
  gvk: fact.gvk ?? undefined,
  params: [...new Set(fact.params.map(parameterName))].sort(),
  body: fact.body === null ? undefined : (bodies[fact.body] ?? fact.body),
  responses: fact.responses,
  consumes: fact.consumes ?? [],
  produces: fact.produces,
  tag: fact.tags[0],
})

const fromOperation = (o: Operation) => ({
  id: o.id,
  action: o.action,
  gvk: o.gvk,
  params: [
    ...new Set([
      ...o.query,
      ...[...o.path.matchAll(/\{(\w+)\}/g)].map((m) => m[1]!),
      ...(o.body === undefined ? [] : ['body']),
    ]),
  ].sort(),
  body: o.body,
  responses: o.responses,
  consumes: o.consumes,
  produces: o.produces,
  tag: o.tag,
})

t.test('each operation of the reference is made from the table, and no other', async (t) => {
  const table = [...makeResourceTable(kinds)]
  const groupVersions = [
    ...new Map(table.map(({ gvr }) => [`${gvr.group}/${gvr.version}`, gvr])).values(),
  ]
  const operations = [
    ...discoveryOperations(groupVersions),
    ...table.flatMap((row) => resourceOperations(row, schemaNameOf)),
  ]
  const key = ({ method, path }: { method: string; path: string }) => `${method} ${path}`
  t.equal(new Set(operations.map(key)).size, operations.length, 'no operation twice')
  const made = new Map(operations.map((o) => [key(o), o]))
  t.strictSame([...made.keys()].sort(), facts.map(key).sort())
  for (const fact of facts) {
    const operation = made.get(key(fact))
    if (operation !== undefined) t.strictSame(fromOperation(operation), fromFact(fact), key(fact))
  }
})
