/** What a policy says whose expressions cost too much together; the answers are those of kube-apiserver v1.36.3. */
import t from 'tap'
import { call, startServer } from '../server/start-server.js'

t.test('a spent budget is all that a policy tells, and is a failure of the policy', async (t) => {
  const server = await startServer(t)
  const create = (path: string, body: object) => call(server, { method: 'POST', path, body })
  const group = '/apis/admissionregistration.k8s.io/v1'
  const costly = 'object.data.all(a, object.data.all(b, a == b || true))'
  const fails = { expression: 'false', message: 'first' }
  const thirty = (make: (text: string) => object) =>
    Array.from({ length: 30 }, (_, i) => make(`${costly} || ${i} == ${i}`))
  const conditions = [fails, ...thirty((expression) => ({ expression }))]
  const messages = [
    fails,
    ...thirty((text) => ({ expression: 'true', messageExpression: `string(${text})` })),
  ]
  const wrong = 'int(object.metadata.name) == 1'
  const spent =
    'validation failed due to running out of cost budget, no further validation rules will be run'
  const data = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`k${i}`, '']))
  const cases = {
    conditions: ['Fail', conditions, spent],
    'ignored-conditions': ['Ignore', conditions, undefined],
    messages: ['Fail', messages, `failed messageExpression: ${spent}`],
    'ignored-messages': ['Ignore', messages, undefined],
    // Where nothing has failed messages are made, too.
    'needless-messages': ['Fail', messages.slice(1), `failed messageExpression: ${spent}`],
    errors: [
      'Fail',
      [fails, ...thirty((text) => ({ expression: `(${text}) && ${wrong}` }))],
      spent,
    ],
    'errors-of-messages': [
      'Fail',
      thirty((text) => ({
        expression: 'true',
        messageExpression: `string((${text}) && ${wrong})`,
      })),
      `failed messageExpression: ${spent}`,
    ],
    few: ['Fail', conditions.slice(0, 3), 'first'],
  } as const
  const rule = {
    apiGroups: [''],
    apiVersions: ['v1'],
    operations: ['*'],
    resources: ['configmaps'],
  }
  for (const [name, [failurePolicy, validations, why]] of Object.entries(cases)) {
    const matchConstraints = {
      resourceRules: [rule],
      objectSelector: { matchLabels: { of: name } },
    }
    const spec = { failurePolicy, matchConstraints, validations }
    await create(`${group}/validatingadmissionpolicies`, { metadata: { name }, spec })
    await create(`${group}/validatingadmissionpolicybindings`, {
      metadata: { name },
      spec: { policyName: name, validationActions: ['Deny'] },
    })
    const { body } = await create('/api/v1/namespaces/default/configmaps', {
      metadata: { name, labels: { of: name } },
      data,
    })
    const who = `configmaps "${name}" is forbidden: ValidatingAdmissionPolicy '${name}' with binding '${name}' denied request`
    t.equal(body.message, why && `${who}: ${why}`)
  }
})
