/** Which requests a FlowSchema is for, and which of them are one flow (apiserver, util/flowcontrol/rule.go). */
import t from 'tap'
import { FlowFigures } from '#flowcontrol/flow-figures.js'
import { FlowSchema, type SchemaSpec } from '#flowcontrol/flow-schema.js'

type Rule = SchemaSpec['rules'][number]
type Subject = Rule['subjects'][number]
type ResourceRule = NonNullable<Rule['resourceRules']>[number]
type PathRule = NonNullable<Rule['nonResourceRules']>[number]

const level = (queues?: number) =>
  ({ spec: { queuing: queues === undefined ? undefined : { queues, handSize: 1 } } }) as never

const schemaOf = (rules: readonly Rule[], more: Partial<SchemaSpec> = {}, queues?: number) => {
  const spec = { name: 's', uid: '', level: 'l', rules, ...more }
  return new FlowSchema(spec, level(queues), new FlowFigures('l', 's'))
}

const user = { name: 'ann', groups: ['devs', 'system:authenticated'] }
const info = {
  isResourceRequest: true,
  path: '/api/v1/namespaces/x/pods/p/log',
  verb: 'get',
  apiGroup: '',
  apiVersion: 'v1',
  namespace: 'x',
  resource: 'pods',
  subresource: 'log',
  name: 'p',
  fieldSelector: '',
  labelSelector: '',
  parts: ['pods', 'p', 'log'],
}
const ann: Subject = { kind: 'User', user: { name: 'ann' } }
const resources: ResourceRule = {
  verbs: ['list', 'get'],
  apiGroups: ['apps', ''],
  resources: ['pods', 'pods/log'],
  namespaces: ['y', 'x'],
}
const paths: PathRule = { verbs: ['get'], nonResourceURLs: ['/metrics', '/healthz/*', '/logs/'] }
const rule: Rule = { subjects: [ann], resourceRules: [resources], nonResourceRules: [paths] }

t.test('who asks', async (t) => {
  const account = (namespace: string, name: string): Subject => ({
    kind: 'ServiceAccount',
    serviceAccount: { namespace, name },
  })
  const bot = { name: 'system:serviceaccount:x:bot', groups: [] }
  const cases: [Subject, { name: string; groups: string[] }, boolean][] = [
    [ann, user, true],
    [ann, { ...user, name: 'bob' }, false],
    [ann, { ...user, name: 'bob', groups: ['ann'] }, false],
    [{ kind: 'User', user: { name: '*' } }, user, true],
    [{ kind: 'User' }, user, false],
    [{ kind: 'Group', group: { name: 'devs' } }, user, true],
    [{ kind: 'Group', group: { name: 'ann' } }, user, false],
    [{ kind: 'Group', group: { name: '*' } }, user, true],
    [{ kind: 'Group', group: { name: '*' } }, bot, true],
    [{ kind: 'Group' }, user, false],
    [account('x', 'bot'), bot, true],
    [account('x', 'bo'), bot, false],
    [account('y', 'bot'), bot, false],
    [account('x', '*'), bot, true],
    [account('y', '*'), bot, false],
    [account('', '*'), bot, false],
    [account('x', '*'), user, false],
    [{ kind: 'ServiceAccount' }, bot, false],
  ]
  for (const [subject, one, fits] of cases) {
    const who = `${JSON.stringify(subject)} ${one.name}`
    t.equal(schemaOf([{ ...rule, subjects: [subject] }]).fits(one, info), fits, who)
    const beside = [{ kind: 'User', user: { name: 'nobody' } }, subject]
    t.equal(schemaOf([{ ...rule, subjects: beside }]).fits(one, info), fits, who)
  }
})

t.test('what they ask for', async (t) => {
  const cases: [Partial<ResourceRule>, Partial<typeof info>, boolean][] = [
    [{}, {}, true],
    [{}, { subresource: '' }, true],
    [{}, { subresource: 'status' }, false],
    [{}, { resource: 'nodes' }, false],
    [{}, { verb: 'create' }, false],
    [{}, { apiGroup: 'batch' }, false],
    [{}, { apiGroup: 'apps' }, true],
    [{}, { namespace: 'z' }, false],
    [{}, { namespace: '' }, false],
    [{ clusterScope: true }, { namespace: '' }, true],
    [{ clusterScope: false }, { namespace: '' }, false],
    [{ clusterScope: true }, { namespace: 'z' }, false],
    [{ namespaces: ['*'] }, { namespace: 'z' }, true],
    [{ namespaces: ['*'] }, { namespace: '' }, false],
    [{ verbs: ['*'] }, { verb: 'create' }, true],
    [{ apiGroups: ['*'] }, { apiGroup: 'batch' }, true],
    [{ resources: ['*'] }, { resource: 'nodes', subresource: 'proxy' }, true],
    [{ resources: ['pods'] }, {}, false],
    [{ resources: ['log'] }, {}, false],
  ]
  for (const [change, about, fits] of cases) {
    const schema = schemaOf([{ ...rule, resourceRules: [{ ...resources, ...change }] }])
    const what = `${JSON.stringify(change)} ${JSON.stringify(about)}`
    t.equal(schema.fits(user, { ...info, ...about }), fits, what)
  }
  const { namespaces: _, ...nowhere } = resources
  t.notOk(schemaOf([{ ...rule, resourceRules: [nowhere] }]).fits(user, info))
  t.notOk(schemaOf([{ subjects: [ann], nonResourceRules: [paths] }]).fits(user, info))
  const first = { ...rule, subjects: [{ kind: 'User', user: { name: 'bob' } }] }
  t.ok(schemaOf([first, rule]).fits(user, info), 'any of its rules')
  t.notOk(schemaOf([]).fits(user, info))
})

t.test('which path they ask for', async (t) => {
  const ask = (path: string, verb = 'get', rules: readonly Rule[] = [rule]): boolean =>
    schemaOf(rules).fits(user, { ...info, isResourceRequest: false, path, verb })
  t.ok(ask('/metrics'))
  t.ok(ask('/metrics/slis'), 'and what lies below')
  t.notOk(ask('/metricsx'))
  t.notOk(ask('/metrics', 'post'))
  t.notOk(ask('/healthz'))
  t.ok(ask('/healthz/etcd'))
  t.ok(ask('/logs/'))
  t.ok(ask('/logs/x'))
  t.notOk(ask('/logs'))
  t.notOk(ask('/'))
  t.notOk(ask('/metrics', 'get', [{ subjects: [ann], resourceRules: [resources] }]))
  const all = { ...rule, nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }] }
  t.ok(ask('/', 'post', [all]))
})

t.test('flows are told apart where there are queues for them', async (t) => {
  const flowOf = (distinguishedBy?: SchemaSpec['distinguishedBy'], queues?: number) =>
    schemaOf([rule], distinguishedBy && { distinguishedBy }, queues).distinguisherOf(user, info)
  t.equal(flowOf('ByUser', 2), 'ann')
  t.equal(flowOf('ByNamespace', 2), 'x')
  t.equal(flowOf(undefined, 2), '')
  for (const queues of [undefined, 1]) t.equal(flowOf('ByUser', queues), '')
})
