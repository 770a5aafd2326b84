/** Which kinds are known where another one is expected, as kube-apiserver 1.36.3 answered. */
import t from 'tap'
import { call, startServer } from './start-server.js'

const server = await startServer(t)
const routes = {
  APIService: '/apis/apiregistration.k8s.io/v1/apiservices',
  CustomResourceDefinition: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
  ConfigMap: '/api/v1/namespaces/default/configmaps',
}

/** Whether a body of that kind is known to each route, but cannot be converted. */
const knownBy = async (apiVersion: string, kind: string): Promise<string[]> => {
  const known = []
  for (const [expected, path] of Object.entries(routes)) {
    const { body } = await call(server, { method: 'POST', path, body: { apiVersion, kind } })
    t.equal(body.code, 400)
    const said = /cannot be handled as a (\w+): (converting \(\w+\.(\w+)\)|no kind "(\w+)")/
    const [, as, , converted, unknown] = said.exec(body.message) ?? []
    t.equal(as, expected, body.message)
    t.equal(converted ?? unknown, kind)
    if (converted !== undefined) known.push(expected)
  }
  return known
}

t.test('definitions and APIServices are registered apart from all other kinds', async (t) => {
  for (const [apiVersion, kind] of [
    ['v1', 'Secret'],
    ['v1', 'List'],
    ['autoscaling/v1', 'Scale'],
    ['apps/v1beta1', 'Deployment'],
    ['apps/v1', 'DeleteOptions'],
    ['v1', 'RangeAllocation'],
    ['scheduling.k8s.io/v1alpha2', 'Workload'],
    ['storagemigration.k8s.io/v1beta1', 'StorageVersionMigrationList'],
  ] as const)
    t.strictSame(await knownBy(apiVersion, kind), ['ConfigMap'], `${apiVersion} ${kind}`)
  const definitions = ['CustomResourceDefinition']
  t.strictSame(await knownBy('apiextensions.k8s.io/v1', 'ConversionReview'), definitions)
  t.strictSame(
    await knownBy('apiextensions.k8s.io/v1', 'CustomResourceDefinitionList'),
    definitions,
  )
  t.strictSame(await knownBy('apiregistration.k8s.io/v1', 'APIServiceList'), ['APIService'])
})

t.test('what all groups share is known to all', async (t) => {
  const all = Object.keys(routes)
  t.strictSame(await knownBy('v1', 'DeleteOptions'), all)
  for (const apiVersion of ['v1', 'apps/v1', 'none.example.com/v7'])
    t.strictSame(await knownBy(apiVersion, 'Status'), all, `Status in ${apiVersion}`)
  t.strictSame(await knownBy('v1', 'Nothing'), [])
})
