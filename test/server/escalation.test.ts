/** Who writes roles and bindings gives away no more than they hold, and who impersonates is whom they may be. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t from 'tap'
import { call, startServer } from './start-server.js'

const folder = mkdtempSync(path.join(tmpdir(), 'kubelevel-escalation-'))
t.teardown(() => rmSync(folder, { recursive: true, force: true }))
const tokenAuthFile = path.join(folder, 'tokens.csv')
writeFileSync(
  tokenAuthFile,
  'alicetoken,alice,1\nbobtoken,bob,2\ncaroltoken,carol,3\ndoratoken,dora,4\nerintoken,erin,5\nfranktoken,frank,6\n',
)
const server = await startServer(t, { tokenAuthFile })

const group = 'rbac.authorization.k8s.io'
const inDefault = `/apis/${group}/v1/namespaces/default`
const clusterWide = `/apis/${group}/v1`
const post = (path: string, body: unknown, token?: string) =>
  call(server, { method: 'POST', path, body, ...(token === undefined ? {} : { token }) })
const grant = async (user: string, name: string, rules: object[]): Promise<void> => {
  await post(`${clusterWide}/clusterroles`, { metadata: { name }, rules })
  const roleRef = { apiGroup: group, kind: 'ClusterRole', name }
  const subjects = [{ kind: 'User', name: user }]
  await post(`${clusterWide}/clusterrolebindings`, { metadata: { name }, roleRef, subjects })
}
const patch = (path: string, body: unknown, token: string) =>
  call(server, {
    method: 'PATCH',
    path,
    body,
    token,
    headers: { 'content-type': 'application/merge-patch+json' },
  })

t.test('a writer of roles without their rights may change their finalizers alone', async (t) => {
  await grant('alice', 'writer', [
    { apiGroups: [group], resources: ['*'], verbs: ['create', 'patch'] },
  ])
  const rules = [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }]
  await post(`${inDefault}/roles`, { metadata: { name: 'pods' }, rules })
  const role = `${inDefault}/roles/pods`
  t.equal((await patch(role, { metadata: { finalizers: ['a/b'] } }, 'alicetoken')).status, 200)
  t.match((await patch(role, { metadata: { labels: { a: 'b' } } }, 'alicetoken')).body, {
    code: 403,
    message: /is attempting to grant RBAC permissions not currently held:\n.*Verbs:\["get"\]}$/,
  })
  const binding = { roleRef: { apiGroup: group, kind: 'Role', name: 'pods' } }
  await post(`${inDefault}/rolebindings`, { metadata: { name: 'pods' }, ...binding })
  const labelled = { metadata: { labels: { a: 'b' } } }
  t.equal((await patch(`${inDefault}/rolebindings/pods`, labelled, 'alicetoken')).status, 403)
})

t.test('an update that would create asks for the right to when all else is in order', async (t) => {
  await grant('erin', 'updater', [{ apiGroups: ['*'], resources: ['*'], verbs: ['update'] }])
  const put = async (path: string, body: object) => {
    const { message } = (await call(server, { method: 'PUT', path, body, token: 'erintoken' })).body
    return message
  }
  const metadata = { name: 'new' }
  const lease = '/apis/coordination.k8s.io/v1/namespaces/default/leases/new'
  t.match(await put(lease, { metadata, spec: { leaseDurationSeconds: -1 } }), /greater than 0/)
  t.match(await put(lease, { metadata, spec: {} }), /cannot create resource "leases"/)
  const role = (verb: string) => ({
    metadata,
    rules: [{ apiGroups: [''], resources: ['pods'], verbs: [verb] }],
  })
  t.match(await put(`${inDefault}/roles/new`, role('delete')), /not currently held/)
  t.match(await put(`${inDefault}/roles/new`, role('update')), /cannot create resource "roles"/)
})

t.test(
  'a role that gathers the rules of others is written by those who may do everything',
  async (t) => {
    await grant('frank', 'gatherer', [
      { apiGroups: [group], resources: ['clusterroles'], verbs: ['create', 'patch'] },
    ])
    const of = (...clusterRoleSelectors: object[]) => ({
      aggregationRule: { clusterRoleSelectors },
    })
    const all = of({ matchLabels: { a: 'b' } })
    const create = (name: string, more: object) =>
      post(`${clusterWide}/clusterroles`, { metadata: { name }, ...more }, 'franktoken')
    const refused = {
      code: 403,
      message: `clusterroles.${group} "all" is forbidden: must have cluster-admin privileges to use the aggregationRule`,
    }
    t.match((await create('all', all)).body, refused)
    t.match((await create('all', of({}))).body, refused)
    const change = async (body: unknown) => {
      const answer = await patch(`${clusterWide}/clusterroles/all`, body, 'franktoken')
      return answer.status
    }
    t.equal((await create('all', {})).status, 201)
    t.equal(await change(all), 403)
    t.equal(
      (await post(`${clusterWide}/clusterroles`, { metadata: { name: 'old' }, ...all })).status,
      201,
    )
    const old = await patch(
      `${clusterWide}/clusterroles/old`,
      { aggregationRule: null },
      'franktoken',
    )
    t.equal(old.status, 403, 'or has gathered them')
    await grant('frank', 'everything', [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }])
    t.equal(await change(all), 200)
  },
)

t.test('a short role that stands for millions of rights is compared in time', async (t) => {
  await grant('bob', 'roles', [{ apiGroups: [group], resources: ['roles'], verbs: ['create'] }])
  const many = Array.from({ length: 1_000 }, (_, i) => `x${i}`)
  const rights = { apiGroups: many, resources: many, verbs: many }
  const create = (name: string, rule: object) =>
    post(`${inDefault}/roles`, { metadata: { name }, rules: [rule] }, 'bobtoken')
  t.match((await create('much', rights)).body, { code: 403, message: /not currently held:\n/ })
  await grant('bob', 'much', [rights])
  t.equal((await create('much', rights)).status, 201)
  t.equal((await create('more', { ...rights, verbs: [...many, 'y'] })).status, 403)
})

t.test('a right to the object named * is no right to others', async (t) => {
  const star = { apiGroups: [''], resources: ['secrets'], verbs: ['get'], resourceNames: ['*'] }
  await grant('bob', 'star', [star])
  const create = async (name: string, resourceNames: string[]) => {
    const body = { metadata: { name }, rules: [{ ...star, resourceNames }] }
    return (await post(`${inDefault}/roles`, body, 'bobtoken')).status
  }
  t.same([await create('star', ['*']), await create('one', ['one'])], [201, 403])
})

t.test('a right to escalate one role counts where the path names it', async (t) => {
  await grant('dora', 'one', [
    { apiGroups: [group], resources: ['roles'], verbs: ['create', 'update'] },
    { apiGroups: [group], resources: ['roles'], verbs: ['escalate'], resourceNames: ['one'] },
  ])
  const rules = [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }]
  const body = { metadata: { name: 'one' }, rules }
  t.equal((await post(`${inDefault}/roles`, body, 'doratoken')).status, 403)
  const put = { method: 'PUT', path: `${inDefault}/roles/one`, body, token: 'doratoken' } as const
  t.equal((await call(server, put)).status, 201)
})

t.test('a refusal tells which roles of the writer could not be read', async (t) => {
  const subjects = [{ kind: 'User', name: 'alice' }]
  for (const name of ['none', 'nothing']) {
    const roleRef = { apiGroup: group, kind: 'Role', name }
    await post(`${inDefault}/rolebindings`, { metadata: { name }, roleRef, subjects })
  }
  const missing = (resource: string) =>
    ['none', 'nothing'].map((name) => `${resource}.${group} "${name}" not found`).join(', ')
  const rules = [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }]
  const role = await post(`${inDefault}/roles`, { metadata: { name: 'x' }, rules }, 'alicetoken')
  t.ok(role.body.message.endsWith(`}; resolution errors: [[${missing('roles')}]]`))
  const roleRef = { apiGroup: group, kind: 'Role', name: 'pods' }
  const body = { metadata: { name: 'x' }, roleRef }
  const bound = await post(`${inDefault}/rolebindings`, body, 'alicetoken')
  t.ok(bound.body.message.endsWith(`}; resolution errors: [[${missing('rolebindings')}]]`))
})

t.test('to bind what is no role takes more than the right to bind', async (t) => {
  const all = [{ apiGroups: [group], resources: ['*'], verbs: ['create', 'bind'] }]
  await grant('bob', 'binder', all)
  const bind = async (roleRef: object) =>
    (await post(`${inDefault}/rolebindings`, { metadata: { name: 'y' }, roleRef }, 'bobtoken')).body
  const unsupported = await bind({ apiGroup: group, kind: 'Group', name: 'pods' })
  t.match(unsupported, { code: 500, message: 'unsupported role reference kind: "Group"' })
  t.notOk('reason' in unsupported)
  t.match(await bind({ apiGroup: 'x', kind: 'Role', name: 'pods' }), { code: 403 })
  t.match(await bind({ apiGroup: group, kind: 'Role', name: 'pods' }), { kind: 'RoleBinding' })
})

t.test('constrained modes of impersonation never take what upstream never allows', async (t) => {
  await grant('carol', 'constrained', [
    { apiGroups: ['*'], resources: ['*'], verbs: ['impersonate-on:user-info:create'] },
    {
      apiGroups: ['authentication.k8s.io'],
      resources: ['users', 'groups', 'userextras/*'],
      verbs: ['impersonate:user-info'],
    },
    {
      apiGroups: ['authentication.k8s.io'],
      resources: ['userextras'],
      verbs: ['impersonate:user-info'],
    },
  ])
  const as = async (headers: Record<string, string>) => {
    const answer = await call(server, {
      method: 'POST',
      path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
      body: {},
      token: 'caroltoken',
      headers: { 'impersonate-user': 'eve', ...headers },
    })
    return answer.body.status?.userInfo?.username ?? answer.body.message
  }
  t.equal(await as({ 'impersonate-group': 'devs' }), 'eve')
  t.match(await as({ 'impersonate-group': '' }), /impersonating the empty string group is not/)
  t.match(
    await as({ 'impersonate-group': 'system:masters' }),
    /system:masters group is not allowed/,
  )
  t.match(await as({ 'impersonate-extra-': 'v' }), /empty string key in extra is not allowed$/)
  t.match(
    await as({ 'impersonate-extra-scopes': 'v' }),
    /"userextras" .*: impersonating an invalid key in extra is not allowed: extra.key: Invalid value: "scopes": must be a domain-prefixed path/,
  )
  t.match(
    await as({ 'impersonate-extra-acme.io%2F%41': 'v' }),
    /impersonating a non-lowercase key in extra is not allowed: "acme.io\/A"$/,
  )
  t.match(await as({ 'impersonate-extra-acme.io%2Fa': '' }), /empty string value in extra is not/)
})

t.test('a user without a ServiceAccount’s name is no ServiceAccount', async (t) => {
  const me = await call(server, {
    method: 'POST',
    path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
    body: {},
    headers: { 'impersonate-user': 'system:serviceaccount:Default:x' },
  })
  t.strictSame(me.body.status.userInfo.groups, ['system:authenticated'])
})
