/** Ranges of Services that are given up while Services have addresses of them. */
import t from 'tap'
import type { KubeObject } from '#api/object.js'
import { resources } from '#client/resources.js'
import { contains, offers, parseRange, rangeOfAddress } from '#controllers/node-ipam/ranges.js'
import { until } from './cluster.js'
import { startControllers } from './in-process.js'

t.test(
  'a range stays until its last Service has gone, or another range has its addresses',
  async (t) => {
    const client = await startControllers(t, ['service-cidr-controller'])
    const at = (name: string) => ({ name })
    const make = (name: string, cidr: string) =>
      client.create(resources.serviceCidrs, { metadata: { name }, spec: { cidrs: [cidr] } })
    const read = (name: string) =>
      client.get<KubeObject>(resources.serviceCidrs, at(name)).catch(() => undefined)
    const readiness = async (name: string) => {
      const found = await read(name)
      return found?.status?.conditions
        ?.map((c: KubeObject) => `${c.type}=${c.status} ${c.reason}`)
        .join()
    }
    const serve = (name: string, clusterIP: string) =>
      client.create(resources.services, {
        metadata: { name, namespace: 'default' },
        spec: { clusterIP, ports: [{ port: 80 }] },
      })
    await make('used', '10.111.0.0/28')
    await make('shared', '10.112.0.0/28')
    await make('unused', '10.113.0.0/28')
    for (const name of ['used', 'shared', 'unused'])
      await until(async () => (await readiness(name)) === 'Ready=True ')
    await serve('a', '10.111.0.5')
    await serve('b', '10.112.0.5')
    for (const name of ['used', 'shared', 'unused'])
      await client.delete(resources.serviceCidrs, at(name))
    for (const name of ['used', 'shared'])
      await until(async () => (await readiness(name)) === 'Ready=False Terminating')
    await until(async () => (await read('unused')) === undefined)
    t.ok(await read('used'))
    await client.delete(resources.services, { name: 'a', namespace: 'default' })
    await make('wider', '10.112.0.0/24')
    for (const name of ['used', 'shared']) await until(async () => (await read(name)) === undefined)
    t.equal(await readiness('wider'), 'Ready=True ')
  },
)

t.test('ranges contain ranges, and offer addresses but for the first and in IPv4 the last', (t) => {
  const range = parseRange('10.0.0.0/30')
  const offered = [0, 1, 2, 3, 4].filter((i) => offers(range, rangeOfAddress(`10.0.0.${i}`)))
  t.same(offered, [1, 2])
  const wide = parseRange('fd00::/126')
  t.same(
    [0, 1, 2, 3, 4].filter((i) => offers(wide, rangeOfAddress(`fd00::${i}`))),
    [1, 2, 3],
  )
  t.ok(contains(range, range))
  t.ok(contains(parseRange('10.0.0.0/24'), range))
  t.notOk(contains(range, parseRange('10.0.0.0/24')))
  t.notOk(contains(wide, range))
  t.end()
})
