/** The operations that the resource table makes are those of the reference. */
import { existsSync, readFileSync } from 'node:fs'
import t from 'tap'
import { kinds } from '#kinds/index.js'
import { discoveryOperations } from '#openapi/discovery-operations.js'
import { type Operation, resourceOperations } from '#openapi/operations.js'
import { makeResourceTable } from '#registry/resource-table.js'
import { makeDocument } from '#routes/openapi-document.js'
import { schemaNameOf } from '#routes/openapi-schemas.js'

const docsUrl = new URL('../../field-docs.json', import.meta.url)

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

t.test(
  'parameters are described, each as it is meant where it stands',
  { skip: !existsSync(docsUrl) && 'npm run build has found no documentation' },
  async (t) => {
    const pods = [...makeResourceTable(kinds)].find(({ gvr }) => gvr.resource === 'pods')!
    const { paths } = await makeDocument({
      version: 'v2',
      operations: resourceOperations(pods, schemaNameOf),
      schemasOf: () => ({}),
    })
    const textOf = (path: string, method: string, name: string): string => {
      // biome-ignore lint/suspicious/noExplicitAny: a document of any form
      const { parameters } = (paths as any)[`/api/v1/namespaces/{namespace}/pods${path}`][method]
      return parameters.find((one: { name: string }) => one.name === name).description
    }
    t.match(textOf('', 'get', 'watch'), /^Watch for changes to the described resources/)
    t.match(textOf('', 'get', 'continue'), /"next key"\.\n\nThis field/)
    t.equal(textOf('/{name}', 'get', 'name'), 'name of the Pod')
    t.equal(textOf('/{name}/eviction', 'post', 'name'), 'name of the Eviction')
    t.match(textOf('/{name}/log', 'get', 'container'), 'stream logs')
    t.match(textOf('/{name}/exec', 'get', 'container'), 'execute the command')
    t.match(textOf('/{name}', 'patch', 'fieldManager'), 'required for apply requests')
    t.notMatch(textOf('', 'post', 'fieldManager'), 'apply requests')
  },
)
