/** Who writes and binds policies has to be able to read their parameters, as kube-apiserver v1.36 answers. */
import t from 'tap'
import type { StatusCause } from '#api/status.js'
import { call, startServer } from './start-server.js'

const group = 'admissionregistration.k8s.io'
const rbac = '/apis/rbac.authorization.k8s.io/v1'
const resourceRules = [
  { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] },
]
const jsonPatch = { expression: "[JSONPatch{op: 'remove', path: '/spec'}]" }
const sorts = [
  {
    sort: 'validating',
    policy: { validations: [{ expression: 'true' }] },
    binding: { validationActions: ['Deny'] },
  },
  {
    sort: 'mutating',
    policy: { reinvocationPolicy: 'Never', mutations: [{ patchType: 'JSONPatch', jsonPatch }] },
    binding: {},
  },
]
const configMap = { apiVersion: 'v1', kind: 'ConfigMap' }

t.test('policies read for their writers what these may read themselves', async (t) => {
  const server = await startServer(t)
  const grant = async (user: string, name: string, rule: object, namespace?: string) => {
    const rules = [rule]
    await call(server, {
      method: 'POST',
      path: `${rbac}/clusterroles`,
      body: { metadata: { name }, rules },
    })
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name }
    const subjects = [{ kind: 'User', name: user }]
    const path = namespace ? `namespaces/${namespace}/rolebindings` : 'clusterrolebindings'
    const body = { metadata: { name }, roleRef, subjects }
    await call(server, { method: 'POST', path: `${rbac}/${path}`, body })
  }
  for (const user of ['writer', 'reader', 'here'])
    await grant(user, `${user}-policies`, { apiGroups: [group], resources: ['*'], verbs: ['*'] })
  const configMaps = { apiGroups: [''], resources: ['configmaps'] }
  await grant('reader', 'reader-maps', { ...configMaps, verbs: ['get'] })
  await grant('here', 'here-maps', { ...configMaps, verbs: ['list'] }, 'default')

  for (const { sort, policy, binding } of sorts) {
    const path = (suffix: string) => `/apis/${group}/v1/${sort}admissionpolic${suffix}`
    const send = async (user: string, method: string, where: string, body: object) => {
      const headers = {
        'impersonate-user': user,
        'impersonate-extra-k': 'v',
        ...(method === 'PATCH' && { 'content-type': 'application/merge-patch+json' }),
      }
      const answer = await call(server, { method, path: where, body, headers })
      const { causes } = answer.body.details ?? {}
      return (
        causes?.map((cause: StatusCause) => `${cause.field}: ${cause.message}`).join() ?? 'written'
      )
    }
    const policyOf = (name: string, paramKind?: object, more: object = {}) => ({
      metadata: { name },
      spec: { ...policy, matchConstraints: { resourceRules }, paramKind, ...more },
    })
    const user = (name: string) => `&{${name}  [system:authenticated] map[k:[v]]}`
    const mayNot = `spec.paramKind: Forbidden: user ${user('writer')} must have "get" permission on all objects of the referenced paramKind (kind=ConfigMap, apiVersion=v1)`

    const policies = path('ies')
    t.equal(await send('writer', 'POST', policies, policyOf('plain')), 'written')
    t.equal(await send('writer', 'POST', policies, policyOf('p', configMap)), mayNot)
    const wrong = policyOf('p', configMap, { failurePolicy: 'X' })
    t.match(await send('writer', 'POST', policies, wrong), /^spec\.failurePolicy: Unsupported/)
    t.match(await send('writer', 'POST', policies, policyOf('P', configMap)), /^metadata\.name: /)
    t.equal(await send('reader', 'POST', policies, policyOf('p', configMap)), 'written')
    const other = { apiVersion: 'v1', kind: 'Nothing' }
    t.match(await send('reader', 'POST', policies, policyOf('q', other)), /kind=Nothing/)
    const change = (paramKind: object) => ({ spec: { failurePolicy: 'Ignore', paramKind } })
    t.equal(await send('writer', 'PATCH', `${policies}/p`, change(configMap)), 'written')
    t.equal(await send('writer', 'PATCH', `${policies}/plain`, change(configMap)), mayNot)

    const bindings = path('ybindings')
    const bind = (who: string, name: string, policyName?: string, ref?: object) => {
      const paramRef = ref && { ...ref, parameterNotFoundAction: 'Deny' }
      const spec = { ...binding, policyName, paramRef }
      return send(who, 'POST', bindings, { metadata: { name }, spec })
    }
    const refused = (who: string, verb: string) => {
      const [whose, which] = sort === 'mutating' ? [verb, user(who)] : [user(who), verb]
      return `spec.paramRef: Forbidden: user ${whose} does not have "${which}" permission on the object referenced by paramRef`
    }
    t.equal(await bind('writer', 'a', 'p'), 'written')
    const nameless = await bind('writer', 'b', undefined, { name: 'c' })
    t.equal(nameless, 'spec.policyName: Required value')
    t.equal(await bind('writer', 'b', 'p', { name: 'c' }), refused('writer', 'get'))
    t.equal(await bind('reader', 'b', 'p', { name: 'c' }), 'written')
    t.equal(await bind('reader', 'c', 'p', { selector: {} }), refused('reader', 'list'))
    t.equal(await bind('here', 'c', 'p', { selector: {} }), refused('here', 'list'))
    t.equal(await bind('here', 'c', 'p', { selector: {}, namespace: 'default' }), 'written')
    t.equal(
      await bind('reader', 'd', 'none', { name: 'c' }),
      `spec.paramRef: Forbidden: unable to get policy none to determine minimum required permissions and user ${user('reader')} does not have "get" permission for all groups, versions and resources`,
    )
    const labels = { metadata: { labels: { a: 'b' } } }
    t.equal(await send('writer', 'PATCH', `${bindings}/b`, labels), refused('writer', 'get'))
    t.equal(await send('reader', 'PATCH', `${bindings}/b`, labels), 'written')
  }
})
