/** What a policy's status tells of its expressions: the answers of a kube-controller-manager 1.36.3, recorded. */
import { once } from 'node:events'
import t from 'tap'
import { formatGroupVersion } from '#api/group-version.js'
import type { PersistedObject } from '#api/object.js'
import type { Client } from '#client/client.js'
import { resources } from '#client/resources.js'
import { readRecorded } from '../recorded.js'
import { definitions } from '../server/definition-body.js'
import { until } from './cluster.js'
import { startControllers } from './in-process.js'

const policies = resources.validatingAdmissionPolicies
const controllers = ['validatingadmissionpolicy-status-controller']

interface Recorded {
  spec: PersistedObject['spec']
  typeChecking: { expressionWarnings?: { fieldRef: string; warning: string }[] }
}
const recorded = readRecorded<Recorded[]>('controllers/policy-warnings')

/** Types have a number after their kind, which upstream takes from the clock. */
const withoutNumbers = ({ expressionWarnings, ...rest }: Recorded['typeChecking']) => ({
  ...rest,
  ...(expressionWarnings && {
    expressionWarnings: expressionWarnings.map(({ fieldRef, warning }) => ({
      fieldRef,
      warning: warning.replaceAll(/\b([A-Z][A-Za-z]+)\d+(?=[.,])/g, '$1'),
    })),
  }),
})

t.test('expressions of policies are checked against the types of what they match', async (t) => {
  const client = await startControllers(t, controllers)
  const checked = async (name: string, generation: number) => {
    const status = async () => (await client.get(policies, { name })).status ?? {}
    await until(async () => (await status()).observedGeneration === generation)
    return withoutNumbers((await status()).typeChecking)
  }
  for (const [i, { spec, typeChecking }] of recorded.entries()) {
    const name = `policy-${i}`
    await client.create(policies, { metadata: { name }, spec })
    t.same(await checked(name, 1), withoutNumbers(typeChecking), JSON.stringify(spec))
  }

  const name = 'policy-0'
  const wrong = [{ expression: 'object.nope == 1' }]
  await client.patch(policies, { name }, { spec: { validations: wrong } }, { type: 'merge' })
  const { expressionWarnings } = await checked(name, 2)
  t.match(expressionWarnings, [{ fieldRef: 'spec.validations[0].expression', warning: /nope/ }])
  const { managedFields = [] } = (await client.get(policies, { name })).metadata
  const owner = managedFields.find(({ subresource }) => subresource === 'status')
  t.match(owner, { manager: 'validatingadmissionpolicy-status', operation: 'Apply' })
})

t.test('kinds of custom resources are known by their definitions', async (t) => {
  const client = await startControllers(t, controllers)
  const gv = { group: 'example.com', version: 'v1' }
  const count = { type: 'object', properties: { count: { type: 'integer' } } }
  const root = { type: 'object', properties: { spec: count } }
  const names = { plural: 'widgets', singular: 'widget', kind: 'Widget' }
  const versions = [
    { name: gv.version, served: true, storage: true, schema: { openAPIV3Schema: root } },
  ]
  const definition = { group: gv.group, scope: 'Namespaced', names, versions }
  await client.create(definitions, { metadata: { name: 'widgets.example.com' }, spec: definition })
  const path = `/openapi/v3/apis/${formatGroupVersion(gv)}`
  await until(async () => client.text({ method: 'GET', path }).catch(() => undefined))
  const name = 'widgets'
  const rule = { apiGroups: [gv.group], apiVersions: [gv.version], resources: ['widgets'] }
  const validations = [{ expression: "object.spec.count > 'a'" }]
  const matchConstraints = { resourceRules: [{ ...rule, operations: ['*'] }] }
  await client.create(policies, { metadata: { name }, spec: { matchConstraints, validations } })
  const status = async () => (await client.get(policies, { name })).status
  await until(async () => (await status())?.observedGeneration === 1)
  const problem = "found no matching overload for '_>_' applied to '(int, string)'"
  t.match((await status()).typeChecking.expressionWarnings, [
    { warning: `example.com/v1, Kind=Widget: ERROR: <input>:1:19: ${problem}` },
  ])
})

t.test('what was found out of a policy is not told of the next one of its name', async (t) => {
  const asked = new AbortController()
  const replaced = new AbortController()
  const client = await startControllers(t, controllers, (real) => ({
    request: async (what: Parameters<Client['request']>[0]) => {
      if (what.path === '/openapi/v3/apis/apps/v1' && !replaced.signal.aborted) {
        asked.abort()
        await once(replaced.signal, 'abort')
      }
      return real.request(what)
    },
  }))
  const name = 'replaced'
  const rule = { apiGroups: ['apps'], apiVersions: ['v1'], resources: ['deployments'] }
  const matchConstraints = { resourceRules: [{ ...rule, operations: ['*'] }] }
  const make = (expression: string) =>
    client.create(policies, {
      metadata: { name },
      spec: { matchConstraints, validations: [{ expression }] },
    })
  await make('object.nope == 1')
  if (!asked.signal.aborted) await once(asked.signal, 'abort')
  await client.delete(policies, { name })
  await make('object.spec.replicas == 1')
  replaced.abort()
  const status = async () => (await client.get(policies, { name })).status
  await until(async () => (await status())?.observedGeneration === 1)
  t.same((await status()).typeChecking, {})
})
