/** What RBAC's rules allow, to whom, and which of them others hold. */
import fc from 'fast-check'
import t from 'tap'
import type { Attributes } from '#authz/authorizer.js'
import {
  describeRule,
  missingRules,
  type PolicyRule,
  ruleAllows,
  subjectApplies,
} from '#authz/rbac-rules.js'

const ask = (verb: string, more: Partial<Attributes>): Attributes => ({
  user: { name: 'u', groups: [] },
  verb,
  isResourceRequest: true,
  path: '',
  apiGroup: '',
  apiVersion: 'v1',
  resource: '',
  subresource: '',
  namespace: '',
  name: '',
  ...more,
})
const pods = { verbs: ['get', 'list'], apiGroups: ['', 'apps'], resources: ['pods', '*/scale'] }

t.test('a rule allows what it lists, or everything by a star', async (t) => {
  const get = (rule: PolicyRule, more: Partial<Attributes> = {}, verb = 'get') =>
    ruleAllows(ask(verb, { resource: 'pods', name: 'a', ...more }), rule)
  t.ok(get(pods))
  t.ok(get(pods, { apiGroup: 'apps' }, 'list'))
  t.notOk(get(pods, {}, 'watch'))
  t.notOk(get(pods, { apiGroup: 'batch' }))
  t.notOk(get(pods, { resource: 'nodes' }))
  t.notOk(get(pods, { subresource: 'log' }), 'that of a Pod is another resource')
  t.notOk(get({ ...pods, resources: ['pods/log'] }))
  t.ok(get({ ...pods, resources: ['pods/log'] }, { subresource: 'log' }))
  t.ok(get(pods, { resource: 'any', subresource: 'scale' }))
  t.notOk(get({ ...pods, resources: ['*/'] }))
  for (const of of ['verbs', 'apiGroups', 'resources']) {
    t.ok(get({ ...pods, [of]: ['*'] }, { apiGroup: '', subresource: '' }), of)
    t.notOk(get({ ...pods, [of]: undefined }), of)
  }
  t.ok(get({ ...pods, resources: ['*'] }, { subresource: 'log' }))
  t.ok(get({ ...pods, resourceNames: ['b', 'a'] }))
  t.notOk(get({ ...pods, resourceNames: ['b', '*'] }))
  t.notOk(get({ ...pods, resourceNames: ['a'] }, { name: '' }), 'all of them are not that one')
  const path = (nonResourceURLs: string[], path: string, verb = 'get') =>
    ruleAllows(ask(verb, { isResourceRequest: false, path }), { verbs: ['get'], nonResourceURLs })
  t.ok(path(['/a', '/b/*'], '/a'))
  t.ok(path(['/a', '/b/*'], '/b/c'))
  t.notOk(path(['/a', '/b/*'], '/b'))
  t.notOk(path(['/a'], '/a/b'))
  t.notOk(path(['/a'], '/a', 'post'))
  t.ok(path(['*'], '/'))
  t.notOk(ruleAllows(ask('get', { isResourceRequest: false, path: '/a' }), pods))
  t.notOk(get({ verbs: ['*'], nonResourceURLs: ['*'] }))
})

t.test('a binding is for whom it names', async (t) => {
  const bot = { name: 'system:serviceaccount:x:bot', groups: ['g'] }
  const applies = (kind: string, name: string, namespace?: string, at = 'x') =>
    subjectApplies(bot, { kind, name, ...(namespace !== undefined && { namespace }) }, at)
  t.ok(applies('User', bot.name))
  t.notOk(applies('User', 'g'))
  t.ok(applies('Group', 'g'))
  t.notOk(applies('Group', bot.name))
  t.ok(applies('ServiceAccount', 'bot', 'x', ''))
  t.ok(applies('ServiceAccount', 'bot', 'x', 'y'))
  t.notOk(applies('ServiceAccount', 'bot', 'y', 'x'))
  t.notOk(applies('ServiceAccount', 'g', 'x'))
  for (const namespace of [undefined, '']) {
    t.ok(applies('ServiceAccount', 'bot', namespace), 'that of the binding')
    t.notOk(applies('ServiceAccount', 'bot', namespace, ''))
  }
  t.notOk(applies('Other', bot.name))
  t.notOk(applies('Other', 'bot'))
})

/** Every set of rules is of these; nobody lists what is other. */
const some = (...values: string[]) => fc.subarray(values, { minLength: 1 })
const ofResources = fc.record({
  verbs: fc.oneof(some('get', 'list'), fc.constant(['*'])),
  apiGroups: fc.oneof(some('', 'apps'), fc.constant(['*'])),
  resources: fc.oneof(some('pods', 'nodes', 'pods/scale', '*/scale'), fc.constant(['*'])),
  resourceNames: fc.oneof(fc.constant([]), some('a', 'b')),
})
const ofPaths = fc.record({
  verbs: fc.oneof(some('get', 'list'), fc.constant(['*'])),
  nonResourceURLs: some('/a', '/a*', '/b', '/*', '*'),
})
const ruleSet = fc.array(fc.oneof(ofResources, ofResources, ofPaths), { maxLength: 3 })

const requests = ['get', 'list', 'other'].flatMap((verb) => [
  ...['/', '/a', '/ab', '/b', '/other', 'other'].map((path) =>
    ask(verb, { isResourceRequest: false, path }),
  ),
  ...['', 'apps', 'other'].flatMap((apiGroup) =>
    ['pods', 'nodes', 'other'].flatMap((resource) =>
      ['', 'scale', 'other'].flatMap((subresource) =>
        ['a', 'b', 'other'].map((name) => ask(verb, { apiGroup, resource, subresource, name })),
      ),
    ),
  ),
])

t.test('nothing is missing exactly where others allow all that a rule allows', async () => {
  fc.assert(
    fc.property(ruleSet, ruleSet, (owned, wanted) => {
      const isAllowed = (rules: readonly PolicyRule[], request: Attributes) =>
        rules.some((rule) => ruleAllows(request, rule))
      const isHeld = requests.every(
        (request) => !isAllowed(wanted, request) || isAllowed(owned, request),
      )
      return isHeld === (missingRules(owned, wanted).length === 0)
    }),
    { numRuns: 1_000 },
  )
})

t.test('what is missing is told of as upstream tells it', async (t) => {
  const told = (owned: PolicyRule[], ...wanted: PolicyRule[]) =>
    missingRules(owned, wanted).map(describeRule)
  t.same(told([], pods), [
    '{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}',
    '{APIGroups:[""], Resources:["*/scale"], Verbs:["get" "list"]}',
    '{APIGroups:["apps"], Resources:["pods"], Verbs:["get" "list"]}',
    '{APIGroups:["apps"], Resources:["*/scale"], Verbs:["get" "list"]}',
  ])
  const named = { verbs: ['get'], apiGroups: [''], resources: ['pods'], resourceNames: ['a', 'b'] }
  t.same(told([{ ...named, resourceNames: ['a'] }], named), [
    '{APIGroups:[""], Resources:["pods"], ResourceNames:["b"], Verbs:["get"]}',
  ])
  t.same(told([], { verbs: ['get'], nonResourceURLs: ['/a'] }), [
    '{NonResourceURLs:["/a"], Verbs:["get"]}',
  ])
})

// CompactRules of upstream's package validation: verbs are joined for resources alone.
t.test('of missing rights to a path none hides another, not even the empty verb', async (t) => {
  const wanted = [
    { verbs: ['get', ''], nonResourceURLs: ['/a'] },
    { verbs: ['get', ''], apiGroups: [''], resources: ['pods'] },
  ]
  t.same(missingRules([], wanted), [
    { verbs: ['get', ''], apiGroups: [''], resources: ['pods'] },
    { verbs: ['get'], nonResourceURLs: ['/a'] },
    { verbs: [''], nonResourceURLs: ['/a'] },
  ])
})
