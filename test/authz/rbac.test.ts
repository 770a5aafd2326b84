/** Who is allowed by which binding, and for how long that is remembered. */
import t from 'tap'
import type { Attributes } from '#authz/authorizer.js'
import { type Binding, RbacAuthorizer, type RoleSource } from '#authz/rbac.js'
import type { PolicyRule } from '#authz/rbac-rules.js'

const pods = { verbs: ['get'], apiGroups: [''], resources: ['pods'] }
const ann = { name: 'ann', groups: ['devs'] }
const get = (resource: string, namespace = 'x', user = ann): Attributes => ({
  user,
  verb: 'get',
  isResourceRequest: true,
  path: '',
  apiGroup: '',
  apiVersion: 'v1',
  resource,
  subresource: '',
  namespace,
  name: 'a',
})

const start = () => {
  const bindings: Binding[] = []
  const roles = new Map<string, PolicyRule[]>()
  const state = { lastChange: 1 as number | undefined, reads: 0, isDown: false }
  const read = (of: Binding[]) => {
    state.reads++
    return state.isDown ? Promise.reject(new Error('down')) : Promise.resolve(of)
  }
  const source: RoleSource = {
    lastChange: () => state.lastChange,
    clusterRoleBindings: () => read(bindings.filter((one) => one.namespace === '')),
    roleBindings: (namespace) => read(bindings.filter((one) => one.namespace === namespace)),
    rules: async ({ kind, name }, namespace) => {
      const found = roles.get(kind === 'Role' ? `${namespace}/${name}` : name)
      if (found === undefined) throw new Error(`${name} not found`)
      return found
    },
  }
  const rbac = new RbacAuthorizer(source)
  const bind = (name: string, namespace: string, subject: object, roleRef: object) =>
    bindings.push({ name, namespace, subjects: [subject], roleRef } as unknown as Binding)
  const reasonOf = async (asked: Attributes) => {
    const { decision, reason } = await rbac.authorize(asked)
    return decision === 'allow' ? reason : reason && `refused: ${reason}`
  }
  return { rbac, roles, state, bind, reasonOf }
}

t.test(
  'the first binding that allows is the reason; those of the cluster come first',
  async (t) => {
    const { rbac, roles, bind, reasonOf } = start()
    roles.set('reader', [pods])
    roles.set('x/nodes', [{ ...pods, resources: ['nodes'] }, pods])
    const user = { kind: 'User', name: 'ann' }
    bind('b', 'x', user, { kind: 'Role', name: 'nodes' })
    bind('c', '', { kind: 'Group', name: 'devs' }, { kind: 'ClusterRole', name: 'reader' })
    bind('d', 'x', { kind: 'ServiceAccount', name: 'bot' }, { kind: 'ClusterRole', name: 'reader' })
    t.equal(
      await reasonOf(get('pods')),
      'RBAC: allowed by ClusterRoleBinding "c" of ClusterRole "reader" to Group "devs"',
    )
    t.equal(
      await reasonOf(get('nodes')),
      'RBAC: allowed by RoleBinding "b/x" of Role "nodes" to User "ann"',
    )
    const bot = { name: 'system:serviceaccount:x:bot', groups: [] }
    t.equal(
      await reasonOf(get('pods', 'x', bot)),
      'RBAC: allowed by RoleBinding "d/x" of ClusterRole "reader" to ServiceAccount "bot/x"',
    )
    t.equal(await reasonOf(get('pods', 'y', bot)), '')
    t.equal(await reasonOf(get('pods', '', bot)), '', 'a binding of a namespace is for that alone')
    t.equal(await reasonOf(get('nodes', 'y')), '')
    t.equal(await reasonOf(get('pods', 'x', { name: 'eve', groups: [] })), '')
    t.same((await rbac.rulesFor(ann, 'x')).rules, [pods, { ...pods, resources: ['nodes'] }, pods])
    t.same((await rbac.rulesFor(ann, '')).rules, [pods])
  },
)

t.test('roles that are missing explain a refusal, and hinder nobody', async (t) => {
  const { rbac, roles, state, bind, reasonOf } = start()
  const user = { kind: 'User', name: 'ann' }
  for (const name of ['none', 'nothing']) bind(name, 'x', user, { kind: 'Role', name })
  t.equal(await reasonOf(get('pods')), 'refused: RBAC: [none not found, nothing not found]')
  t.same((await rbac.rulesFor(ann, 'x')).errors.map(String), [
    'Error: none not found',
    'Error: nothing not found',
  ])
  roles.set('reader', [pods])
  bind('c', 'x', user, { kind: 'ClusterRole', name: 'reader' })
  state.lastChange = 2
  t.match(await reasonOf(get('pods')), /^RBAC: allowed by RoleBinding "c\/x"/)
})

t.test('grants are remembered until anything changes, and no longer', async (t) => {
  const { roles, state, bind, reasonOf } = start()
  const reads = async (...asked: Attributes[]) => {
    const before = state.reads
    for (const one of asked) await reasonOf(one)
    return state.reads - before
  }
  roles.set('reader', [pods])
  bind('c', '', { kind: 'User', name: 'ann' }, { kind: 'ClusterRole', name: 'reader' })
  t.equal(await reads(get('pods'), get('nodes'), get('pods')), 2, 'cluster and namespace, once')
  t.equal(await reads(get('pods', ''), get('pods', '')), 1)
  t.equal(await reads(get('pods', 'x', { ...ann, groups: [] })), 2, 'another is asked for anew')
  roles.set('reader', [])
  t.match(await reasonOf(get('pods')), /allowed by/, 'nobody has told of it yet')
  state.lastChange = 2
  t.equal(await reasonOf(get('pods')), '')
  state.lastChange = undefined
  t.equal(await reads(get('pods'), get('pods')), 4, 'where only a read can tell')
  state.lastChange = 3
  state.isDown = true
  await t.rejects(reasonOf(get('pods')), /down/)
  state.isDown = false
  t.equal(await reasonOf(get('pods')), '', 'that it could not be read is not remembered')
})
