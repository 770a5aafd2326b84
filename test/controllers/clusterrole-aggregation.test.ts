/** The rules of a ClusterRole that is made of others. */
import t from 'tap'
import type { KubeObject } from '#api/object.js'
import { resources } from '#client/resources.js'
import { until } from './cluster.js'
import { startControllers } from './in-process.js'

t.test('rules that somebody gave stay until a role is chosen, and those of roles go', async (t) => {
  const client = await startControllers(t, ['clusterrole-aggregation-controller'])
  const { clusterRoles } = resources
  const create = (name: string, more: object) =>
    client.create<KubeObject>(clusterRoles, { metadata: { name }, ...more })
  const rules = async (name: string) =>
    (await client.get<KubeObject>(clusterRoles, { name })).rules as { verbs: string[] }[] | null
  const rule = (verb: string) => ({ verbs: [verb], apiGroups: ['g'], resources: ['r'] })
  const selecting = (part: string) => ({
    aggregationRule: { clusterRoleSelectors: [{ matchLabels: { part } }] },
  })
  await create('alone', { ...selecting('none'), rules: [rule('own')] })
  await create('sum', { ...selecting('a'), rules: [rule('own')] })
  const chosen = { metadata: { name: 'chosen', labels: { part: 'a' } }, rules: [rule('get')] }
  await client.create(clusterRoles, chosen)
  await until(async () => (await rules('sum'))?.[0]?.verbs[0] === 'get')
  t.same(await rules('sum'), [rule('get')])
  await client.delete(clusterRoles, { name: 'chosen' })
  await until(async () => !(await rules('sum'))?.length)
  t.same(await rules('alone'), [rule('own')])
})
