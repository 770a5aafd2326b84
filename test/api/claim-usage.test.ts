/** How many devices a claim counts as, also where nobody has so many. */
import t from 'tap'
import type { KubeObject } from '#api/object.js'
import { measureOf } from '#api/quota/usage.js'

const last = 2n ** 63n - 1n

t.test('devices of a claim are added up without loss', async (t) => {
  const none = { deviceClasses: () => [], pod: () => undefined, claimsFor: () => [] }
  const { usage } = measureOf({ group: 'resource.k8s.io', resource: 'resourceclaims' }, none)
  const devicesOf = (...requests: object[]) => {
    const spec = { devices: { requests } }
    const claim: KubeObject = { kind: '', apiVersion: '', metadata: {}, spec }
    return usage(claim, 0)['gpu.deviceclass.resource.k8s.io/devices']
  }
  const ask = (count: number | bigint) => ({ deviceClassName: 'gpu', count })
  t.equal(devicesOf({ exactly: ask(last) }, { exactly: ask(last) }), String(2n * last))
  t.equal(
    devicesOf({ firstAvailable: [ask(2), ask(last), ask(3)] }, { exactly: ask(1) }),
    String(last + 1n),
  )
  t.equal(devicesOf({ firstAvailable: [{ ...ask(2), allocationMode: 'All' }] }), '32')
})
