/** The operations that the resource table makes are those of the reference. */
import { existsSync, readFileSync } from 'node:fs'
import t from 'tap'
import { customRows } from '#crd/custom-rows.js'
import type { CustomResourceDefinition } from '#crd/definition/definition.js'
import { kinds } from '#kinds/index.js'
import { discoveryOperations } from '#openapi/discovery-operations.js'
import { type Operation, resourceOperations } from '#openapi/operations.js'
import { makeResourceTable } from '#registry/resource-table.js'
import { documentOf } from '#routes/openapi/document.js'
import { makeParts } from '#routes/openapi/part.js'
import { schemaNameOf } from '#routes/openapi/schema-name.js'
import { WrittenSchemas } from '#routes/openapi/written-schemas.js'

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

const rowOf = (scope: string, group: string, names: object) =>
  customRows({
    metadata: { name: `things.${group}` },
    spec: {
      group,
      scope,
      names,
      versions: [
        {
          ...{ name: 'v1', served: true, storage: true },
          schema: { openAPIV3Schema: { type: 'object' } },
        },
      ],
    },
    status: { acceptedNames: names },
  } as unknown as CustomResourceDefinition)[0]!

t.test('a definition may name its list in its own way', (t) => {
  const row = rowOf('Cluster', 'e.com', { plural: 'things', kind: 'Thing', listKind: 'AllThings' })
  const list = resourceOperations(row, schemaNameOf).find(({ action }) => action === 'list')!
  t.equal(list.responses[200], 'com.e.v1.AllThings')
  const schemas = new Map(new WrittenSchemas('v3').ofRow(row))
  t.ok(schemas.has('com.e.v1.AllThings'))
  t.end()
})

// What kube-apiserver makes of Zalando's `kind: postgresql`.
t.test('a kind that begins with a small letter has a capital after its group', (t) => {
  const idsOf = (scope: string) => {
    const names = { plural: 'postgresqls', kind: 'postgresql', listKind: 'postgresqlList' }
    return resourceOperations(rowOf(scope, 'acid.zalan.do', names), schemaNameOf).map(
      ({ id }) => id,
    )
  }
  const namespaced = idsOf('Namespaced')
  t.ok(namespaced.includes('listAcidZalanDoV1PostgresqlForAllNamespaces'), namespaced.join(' '))
  t.ok(namespaced.includes('listAcidZalanDoV1Namespacedpostgresql'))
  const cluster = idsOf('Cluster')
  t.ok(cluster.includes('readAcidZalanDoV1Postgresql'), cluster.join(' '))
  t.ok(cluster.includes('deleteAcidZalanDoV1Collectionpostgresql'))
  t.end()
})

interface Parameter {
  readonly $ref?: string
  readonly name?: string
  readonly in?: string
  readonly description?: string
}
type Shared = Readonly<Record<string, Parameter>>

// biome-ignore lint/suspicious/noExplicitAny: operations by method, and the parameters of all
type Item = Record<string, any>

const documentWith = async (operations: readonly Operation[]) => {
  const parts = await makeParts('v2', [operations])
  const schemas = new WrittenSchemas('v2')
  const text = documentOf({ version: 'v2', parts, isCustom: false, schemas, custom: new Map() })
  return JSON.parse(text) as { paths: Record<string, Item>; parameters: Shared }
}

const nameInDocument = ({ $ref = '' }: Parameter): string => $ref.replace('#/parameters/', '')
const resolved = (one: Parameter, shared: Shared): Parameter =>
  one.$ref === undefined ? one : shared[nameInDocument(one)]!

t.test(
  'parameters are described, each as it is meant where it stands',
  { skip: !existsSync(docsUrl) && 'npm run build has found no documentation' },
  async (t) => {
    const pods = [...makeResourceTable(kinds)].find(({ gvr }) => gvr.resource === 'pods')!
    const { paths, parameters: shared } = await documentWith(resourceOperations(pods, schemaNameOf))
    const textOf = (path: string, method: string, name: string): string => {
      const item = paths[`/api/v1/namespaces/{namespace}/pods${path}`]!
      const all = [...(item[method]!.parameters ?? []), ...(item.parameters ?? [])]
      return all.map((one) => resolved(one, shared)).find((one) => one.name === name)!.description!
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

// As kube-apiserver v1.36.3 names them: the hash is of the whole parameter, so that each has the reference's words.
const sharedNames = `
allowWatchBookmarks-HC2hJt-J
body-2Y1dVQaQ
body-78PwaGsr
command-Py3eQybp
container-1GeXxFDC
container-_Q-EJ3nR
container-i5dOmRiM
continue-QfD61s0i
fieldManager-7c6nTn1T
fieldManager-Qy4HdaTW
fieldSelector-xIcQKXFG
follow-9OIXh_2R
force-tOGGb0Yi
gracePeriodSeconds--K5HaBOS
ignoreStoreReadErrorWithClusterBreakingPotential-QbNkfIqj
insecureSkipTLSVerifyBackend-gM00jVbe
labelSelector-5Zw57w4C
limit-1NfNmdNH
limitBytes-zwd1RXuc
namespace-vgWSWtn3
orphanDependents-uRB25kX5
path-QCf0eosM
path-oPbzgLUj
path-rFDtV0x9
path-z6Ciiujn
ports-91KROJmm
pretty-tJGM1-ng
previous-1jxDPu3y
propagationPolicy-6jk3prlO
resourceVersion-5WAnf1kx
resourceVersionMatch-t8XhRHeC
sendInitialEvents-rLXlEK_k
shardSelector-Kgyki_3_
sinceSeconds-vE2NLdnP
stderr-26jJhFUR
stderr-W_1TNlWc
stdin-PSzNhyUC
stdin-sEFnN3IS
stdout--EZLRwV1
stdout-005YMKE6
stream-l-48cgXv
tailLines-9xQLWHMV
timeoutSeconds-yvYezaOC
timestamps-c17fW1w_
tty-g7MlET_l
tty-s0flW37O
watch-XNNPZGbK
`

t.test(
  'parameters are shared as in the reference, by the same names',
  { skip: !existsSync(docsUrl) && 'npm run build has found no documentation' },
  async (t) => {
    const operations = [...makeResourceTable(kinds)].flatMap((row) =>
      resourceOperations(row, schemaNameOf),
    )
    const { paths, parameters } = await documentWith(operations)
    t.strictSame(Object.keys(parameters), sharedNames.trim().split('\n'))
    const names = (list: readonly Parameter[] = []) =>
      list.map((one) => resolved(one, parameters).name)
    const pods = paths['/api/v1/namespaces/{namespace}/pods/{name}']!
    t.strictSame(names(pods.parameters), ['name', 'namespace', 'pretty'])
    t.equal(pods.get.parameters, undefined)
    t.strictSame(names(pods.put.parameters), [
      ...['body', 'dryRun', 'fieldManager', 'fieldValidation'],
    ])
    const proxy = paths['/api/v1/nodes/{name}/proxy']!
    t.equal(proxy.head.operationId, 'connectCoreV1HeadNodeProxy')
  },
)
