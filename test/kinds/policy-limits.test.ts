/** What a ValidatingAdmissionPolicy may say, as kube-apiserver v1.36.3 answers. */
import t from 'tap'
import { startApiInMemory } from './api-in-memory.js'

const policies = 'admissionregistration.k8s.io/v1/validatingadmissionpolicies'
const matchConstraints = {
  resourceRules: [
    { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] },
  ],
}

t.test('annotations and messages have their bounds', async (t) => {
  const api = await startApiInMemory()
  t.teardown(() => api.close())
  const make = (spec: object, metadata: object = { name: 'p' }) =>
    api.create(policies, { metadata, spec: { matchConstraints, ...spec } })
  const annotation = (key: string, valueExpression = "'x'") => ({ key, valueExpression })
  const validation = { expression: 'true' }

  const many = Array.from({ length: 21 }, (_, i) => annotation(`a${i}`))
  t.match((await make({ auditAnnotations: many })).body.message, /more than 20 auditAnnotations$/)
  const long = [annotation('a', `'${'x'.repeat(5119)}'`)]
  t.match((await make({ auditAnnotations: long })).body.message, /not exceed 5120 bytes in length$/)
  t.match(
    (await make({ auditAnnotations: [annotation('a')] }, {})).body.message,
    /spec\.auditAnnotations\[0\]\.key: Invalid value: "a": requires metadata\.name be non-empty/,
  )
  t.match(
    (await make({ validations: [{ ...validation, messageExpression: ' ' }] })).body.message,
    /messageExpression: Invalid value: " ": must be non-empty if specified$/,
  )
  const trimmed = { ...validation, message: '\nno\n' }
  t.equal((await make({ validations: [trimmed] })).code, 201)
})
