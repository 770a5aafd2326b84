/** What a start makes of roles and bindings that every cluster has, as kube-apiserver's hook rbac/bootstrap-roles. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t from 'tap'
import { call, startServer } from './start-server.js'

const rbac = '/apis/rbac.authorization.k8s.io/v1'
const no = { 'rbac.authorization.kubernetes.io/autoupdate': 'false' }
const members = (...groups: string[]) =>
  groups.map((name) => ({ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name }))
const pods = { apiGroups: [''], resources: ['pods'], verbs: ['get'] }

t.test('rights that somebody took from a role or binding are there after a start', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'kubelevel-rbac-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const start = () =>
    startServer(t, { storage: `level:${path.join(folder, 'db')}`, dataDir: folder })
  let server = await start()
  const read = async (name: string) => (await call(server, { path: `${rbac}/${name}` })).body
  const patch = async (name: string, body: object) => {
    const headers = { 'content-type': 'application/merge-patch+json' }
    const request = { method: 'PATCH', path: `${rbac}/${name}`, headers, body }
    t.equal((await call(server, request)).status, 200, name)
  }
  const remove = (name: string) => call(server, { method: 'DELETE', path: `${rbac}/${name}` })
  const scheduler = 'namespaces/kube-system/roles/system::leader-locking-kube-scheduler'
  const whole = await read(scheduler)
  const own = { metadata: { labels: { 'kubernetes.io/bootstrapping': null, own: 'a' } } }
  await patch(scheduler, { ...own, rules: [pods] })
  const [, ...rest] = (await read('clusterroles/system:node-proxier')).rules
  await patch('clusterroles/system:node-proxier', { metadata: { annotations: no }, rules: rest })
  await patch('clusterroles/edit', { aggregationRule: null })
  await patch('clusterroles/system:basic-user', {
    aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: 'b' } }] },
  })
  const basic = 'clusterrolebindings/system:basic-user'
  await patch(basic, { subjects: members('own') })
  const discovery = 'clusterrolebindings/system:discovery'
  await patch(discovery, {
    metadata: { annotations: { ...no, own: 'a' } },
    subjects: members('own'),
  })
  const viewer = 'clusterrolebindings/system:public-info-viewer'
  await remove(viewer)
  const dns = 'clusterrolebindings/system:kube-dns'
  const made = await read(dns)
  await remove(dns)
  const { metadata, ...binding } = made
  const other = {
    ...binding,
    metadata: { name: metadata.name },
    roleRef: { ...made.roleRef, name: 'view' },
  }
  await call(server, { method: 'POST', path: `${rbac}/clusterrolebindings`, body: other })
  const untouched = await read('clusterroles/view')
  await server.close()
  server = await start()

  const role = await read(scheduler)
  const { own: ofOwn, ...labels } = role.metadata.labels
  t.same([ofOwn, labels], ['a', whole.metadata.labels])
  t.same(role.rules[0], pods, 'what is more stays')
  t.ok(
    role.rules.length > whole.rules.length &&
      role.rules.every((rule: { verbs: string[] }) => rule.verbs.length === 1),
  )
  t.same((await read('clusterroles/system:node-proxier')).rules, rest, 'its annotation says no')
  t.ok((await read('clusterroles/edit')).aggregationRule)
  t.notOk((await read('clusterroles/system:basic-user')).aggregationRule)
  t.same((await read(basic)).subjects, members('own', 'system:authenticated'))
  t.same((await read(discovery)).subjects, members('own'))
  t.match(await read(viewer), {
    metadata: { annotations: { ...no, own: 'a' } },
    subjects: members('own'),
  })
  t.same((await read(dns)).roleRef, made.roleRef, 'a binding of another role is made anew')
  t.same(await read('clusterroles/view'), untouched)
})
