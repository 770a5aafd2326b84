/** Odd characters in a refused value: a plain string is quoted as Go quotes, one of a type with a name is JSON. */
import t from 'tap'
import type { StatusCause } from '#api/status.js'
import { startApiInMemory } from './api-in-memory.js'

const odd = '<&>'
const json = '"\\u003c\\u0026\\u003e"'
const containers = [{ name: 'c', image: 'i' }]

t.test('a value is printed by the type that it has in Go', async (t) => {
  const api = await startApiInMemory()
  t.teardown(api.close)
  const causesOf = async (gvr: string, body: object): Promise<string[]> => {
    const named = { metadata: { name: 'a' }, ...body }
    const answer = await api.create(gvr, named, { namespace: 'default' })
    return answer.body.details.causes.map(
      ({ field, message }: StatusCause) => `${field}: ${message}`,
    )
  }
  const pod = (spec: object) => causesOf('v1/pods', { spec: { containers, ...spec } })
  const values = '"ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"'
  t.same(await pod({ dnsPolicy: odd }), [
    `spec.dnsPolicy: Unsupported value: ${json}: supported values: ${values}`,
  ])
  t.match(await pod({ os: { name: odd } }), [
    new RegExp(`^spec.os: Unsupported value: ${json.replaceAll('\\', '\\\\')}: `),
  ])
  t.match(
    await pod({ hostname: odd }),
    [/^spec.hostname: Invalid value: "<&>": /],
    'a plain string',
  )
  t.match(
    await pod({ readinessGates: [{ conditionType: odd }] }),
    [/^spec.readinessGates\[0\].conditionType: Invalid value: "<&>": name part must/],
    'formats are checked of plain strings',
  )
  const services = { spec: { ports: [{ port: 1 }], ipFamilies: [odd] } }
  t.same(await causesOf('v1/services', services), [
    `spec.ipFamilies[0]: Unsupported value: ${json}: supported values: "IPv4", "IPv6"`,
  ])
  const binding = { spec: { policyName: 'a', validationActions: [odd, odd] } }
  const bindings = 'admissionregistration.k8s.io/v1/validatingadmissionpolicybindings'
  const supported = `Unsupported value: ${json}: supported values: "Audit", "Deny", "Warn"`
  t.same(await causesOf(bindings, binding), [
    `spec.validationActions[0]: ${supported}`,
    `spec.validationActions[1]: ${supported}`,
    `spec.validationActions[1]: Duplicate value: ${json}`,
  ])
})
