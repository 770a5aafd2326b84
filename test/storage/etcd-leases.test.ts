/** Leases, where etcd loses one while others wait for it. */
import t from 'tap'
import { systemClock } from '#api/clock.js'
import type { EtcdApi } from '#storage/etcd/api.js'
import { Leases } from '#storage/etcd/leases.js'

t.test('who waits for a lease that is not granted gets the next, forgotten or not', async (t) => {
  const grants: { resolve(granted: { ID: string }): void; reject(why: Error): void }[] = []
  const call = () => new Promise((resolve, reject) => grants.push({ resolve, reject }))
  const leases = new Leases({ call } as unknown as EtcdApi, systemClock)
  for (const isForgotten of [false, true]) {
    const first = leases.get(60)
    const others = [leases.get(60), leases.get(60)]
    if (isForgotten) leases.forget()
    grants.shift()!.reject(new Error('etcd is away'))
    await t.rejects(first, { message: 'etcd is away' })
    t.equal(grants.length, 1, 'they share it')
    grants.shift()!.resolve({ ID: '7' })
    t.same(await Promise.all(others), ['7', '7'])
    t.equal(await leases.get(60), '7')
    leases.forget()
  }
})
