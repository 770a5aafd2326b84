/** Each Node has a range of its own. */
import t from 'tap'
import type { Node } from '#client/pod.js'
import { resources } from '#client/resources.js'
import { formatRange, parseRange, RangeParts } from '#controllers/node-ipam/ranges.js'
import { startCluster, until } from './cluster.js'

t.test('a range is cut into parts, each for one', (t) => {
  const parts = new RangeParts(parseRange('10.244.0.0/22'), 24)
  const next = (...taken: string[]) => {
    const held = taken.map(parseRange)
    for (const range of held) parts.hold(range)
    const range = parts.next()
    for (const range of held) parts.release(range)
    return range && formatRange(range)
  }
  t.equal(next(), '10.244.0.0/24')
  t.equal(next('10.244.1.0/25'), '10.244.2.0/24', 'one of which a half is taken is taken')
  t.equal(next(), '10.244.3.0/24')
  t.equal(next(), '10.244.0.0/24', 'from the beginning again')
  t.equal(next('10.244.0.0/16', '10.0.0.0/8', 'fd00::/8'), undefined)
  t.equal(next('10.245.0.0/16', '10.244.1.0/24', '10.244.1.128/25'), '10.244.2.0/24')
  const six = new RangeParts(parseRange('fd00:10::/62'), 64)
  t.same(
    [six.next(), six.next()].map((range) => formatRange(range!)),
    ['fd00:10::/64', 'fd00:10:0:1::/64'],
  )
  for (const wrong of ['10.0.0.0', '10.0.0.0/33', 'x/8', 'fd00::/129', '10.0.0.0/8/8'])
    t.throws(() => parseRange(wrong), { message: `invalid CIDR address: ${wrong}` })
  t.throws(() => new RangeParts(parseRange('10.0.0.0/24'), 16), /larger than the cluster range/)
  t.throws(() => new RangeParts(parseRange('10.0.0.0/4'), 24), /too big/)
  t.end()
})

t.test('Nodes get ranges that no other has, even after a controller was killed', async (t) => {
  const { client, spawn } = await startCluster(t)
  await client.create(resources.nodes, {
    metadata: { name: 'before' },
    spec: { podCIDR: '10.9.0.0/24', podCIDRs: ['10.9.0.0/24', 'fd09::/64'] },
  })
  const manager = spawn(
    'controller-manager',
    '--controllers=nodeipam',
    '--allocate-node-cidrs',
    '--cluster-cidr=10.9.0.0/22,fd09::/48',
    '--service-cluster-ip-range=10.9.1.0/24',
  )
  const cidrs = async () =>
    (await client.list<Node>(resources.nodes, {})).items.map(({ spec }) => spec.podCIDRs?.join())
  await client.create(resources.nodes, { metadata: { name: 'one' } })
  await until(async () => (await cidrs()).every(Boolean))
  await manager.killAndRestart()
  for (const name of ['three', 'two']) await client.create(resources.nodes, { metadata: { name } })
  await until(async () => (await cidrs()).filter(Boolean).length === 3)
  t.same((await cidrs()).filter(Boolean).sort(), [
    '10.9.0.0/24,fd09::/64',
    '10.9.2.0/24,fd09:0:0:1::/64',
    '10.9.3.0/24,fd09:0:0:2::/64',
  ])
  const told = async () =>
    (await client.list({ ...resources.pods, resource: 'events', kind: 'Event' }, {})).items.map(
      ({ reason }) => reason,
    )
  await until(async () => (await told()).includes('CIDRNotAvailable'))
  await client.delete(resources.nodes, { name: 'one' })
  await until(async () => (await cidrs()).every(Boolean))
})
