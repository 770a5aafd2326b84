/** What containers ask for, as defaulting leaves it. */
import t from 'tap'
import { defaultPod } from '#kinds/pods/pod-defaults.js'

const requestsOf = (resources: object): unknown => {
  const containers = [{ name: 'c', image: 'i', resources }]
  const pod = { kind: 'Pod', apiVersion: 'v1', metadata: {}, spec: { containers } }
  defaultPod(pod)
  return (resources as { requests?: object }).requests
}

t.test('amounts of less than a thousandth are rounded up, in whatever form they are', async (t) => {
  const requests = { a: '1n', b: '100u', c: '1e-9', d: '1E-9', e: '1E-3', f: '5m', g: '2E6' }
  const rounded = { a: '1m', b: '1m', c: '1e-3', d: '1e-3', e: '1E-3', f: '5m', g: '2E6' }
  t.same(requestsOf({ requests }), rounded)
})

t.test('each limit without a request is one, whatever it is called', async (t) => {
  const limits = { cpu: '2', constructor: '1' }
  t.same(requestsOf({ limits, requests: { cpu: '1' } }), { cpu: '1', constructor: '1' })
})
