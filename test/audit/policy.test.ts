/** Which rule of an audit policy a request falls under; what is wrong with a policy is said in upstream's words. */
import t from 'tap'
import { type Asked, verdictsOf } from '#audit/policy.js'
import { readPolicy } from '#audit/read-policy.js'

const header = 'apiVersion: audit.k8s.io/v1\nkind: Policy\n'
const read = (rules: string) => readPolicy(`${header}${rules}`)

const pods: Asked = {
  user: { name: 'ann', groups: ['devs', 'system:authenticated'] },
  verb: 'get',
  isResourceRequest: true,
  path: '/api/v1/namespaces/a/pods/p',
  apiGroup: '',
  apiVersion: 'v1',
  resource: 'pods',
  subresource: '',
  namespace: 'a',
  name: 'p',
}
const asked = (some: Partial<Asked>): Asked => ({ ...pods, ...some })
const log = asked({ subresource: 'log' })
const path = (name: string): Asked =>
  asked({ isResourceRequest: false, path: name, resource: '', namespace: '', name: '' })

/** Each rule, what it matches and what it does not. */
const cases: readonly [rule: string, matched: readonly Asked[], others: readonly Asked[]][] = [
  [
    'users: [ann]',
    [pods],
    [asked({ user: undefined }), asked({ user: { name: 'bob', groups: [] } })],
  ],
  [
    'userGroups: [ops, devs]',
    [pods],
    [asked({ user: undefined }), asked({ user: { name: 'ann', groups: [] } })],
  ],
  ['verbs: [get, list]', [pods, path('/x')], [asked({ verb: 'watch' })]],
  ['namespaces: [a]', [pods], [asked({ namespace: 'b' }), path('/x')]],
  ['namespaces: [""]', [asked({ namespace: '' })], [pods, path('/x')]],
  ['resources: [{group: ""}]', [pods, log], [asked({ apiGroup: 'apps' }), path('/x')]],
  ['resources: [{group: "*", resources: [pods]}]', [pods, asked({ apiGroup: 'apps' })], [log]],
  ['resources: [{resources: ["*"]}]', [pods, log], [asked({ apiGroup: 'apps' })]],
  ['resources: [{resources: ["pods/log"]}]', [log], [pods]],
  ['resources: [{resources: ["*/log"]}]', [log], [pods]],
  ['resources: [{resources: ["pods/*"]}]', [log, pods], [asked({ resource: 'nodes' })]],
  ['resources: [{resources: [pods], resourceNames: [p]}]', [pods], [asked({ name: 'q' })]],
  ['nonResourceURLs: ["/healthz*"]', [path('/healthz'), path('/healthz/x')], [path('/x'), pods]],
  ['nonResourceURLs: ["/x"]', [path('/x')], [path('/x/y')]],
  ['nonResourceURLs: ["*"]', [path('/x')], [pods]],
]

for (const [rule, matched, others] of cases)
  t.test(`a rule with ${rule}`, async (t) => {
    const verdictOf = verdictsOf(read(`rules:\n- level: Request\n  ${rule}\n- level: Metadata\n`))
    for (const one of matched) t.equal(verdictOf(one).level, 'Request', JSON.stringify(one))
    for (const one of others) t.equal(verdictOf(one).level, 'Metadata', JSON.stringify(one))
  })

t.test('what no rule matches is not logged, and omitted stages add up', async (t) => {
  const verdictOf = verdictsOf(
    read(`
omitStages: [RequestReceived]
omitManagedFields: true
rules:
- level: Metadata
  verbs: [get]
  omitStages: [ResponseStarted]
- level: Request
  verbs: [list]
  omitManagedFields: false
`),
  )
  t.same(verdictOf(pods), {
    level: 'Metadata',
    omitStages: ['RequestReceived', 'ResponseStarted'],
    omitManagedFields: true,
  })
  t.match(verdictOf(asked({ verb: 'list' })), { level: 'Request', omitManagedFields: false })
  t.equal(verdictOf(asked({ verb: 'delete' })).level, 'None')
})

/** As kube-apiserver v1.36.3 says it at its start. */
const refused: Readonly<Record<string, string>> = {
  'rules: []': 'loaded illegal policy with 0 rules',
  'rules: [{level: Foo}]':
    'rules[0].level: Unsupported value: "Foo": supported values: "None", "Metadata", "Request", "RequestResponse"',
  'rules: [{users: [a]}]': 'rules[0].level: Required value',
  'rules: [{level: Metadata, omitStages: [X]}]':
    'rules[0].omitStages[0]: Invalid value: "X": allowed stages are RequestReceived,ResponseStarted,ResponseComplete,Panic',
  'rules: [{level: Metadata, nonResourceURLs: ["x*y"]}]':
    '[rules[0].nonResourceURLs[0]: Invalid value: "x*y": non-resource URL rules must begin with a \'/\' character, rules[0].nonResourceURLs[0]: Invalid value: "x*y": non-resource URL wildcards \'*\' must be the final character of the rule]',
  'rules: [{level: Metadata, nonResourceURLs: ["/x"], namespaces: [a]}]':
    'rules[0].nonResourceURLs: Invalid value: ["/x"]: rules cannot apply to both regular resources and non-resource URLs',
  'rules: [{level: Metadata, resources: [{resourceNames: [x]}]}]':
    'rules[0].resources.resourceNames: Invalid value: ["x"]: using resourceNames requires at least one resource',
}

t.test('a policy that means nothing is refused', async (t) => {
  for (const [text, message] of Object.entries(refused)) t.throws(() => read(text), { message })
  t.throws(() => readPolicy('kind: Policy\napiVersion: audit.k8s.io/v2\n'), /no kind "Policy"/)
  t.throws(() => readPolicy('[]'), /must be an object/)
  t.throws(() => read('rules: [{level: 1}]'), /rules\[0\].level must be a string/)
  t.throws(() => read('rules: [{level: None, users: x}]'), /users must be a list of strings/)
})
