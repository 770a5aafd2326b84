/** Selectors in checks of authorization, as policies ask them; the outcomes are those of v1.36.3. */
import t from 'tap'
import { call, startServer } from './start-server.js'

const admission = '/apis/admissionregistration.k8s.io/v1'
const pods = "authorizer.group('').resource('pods')"
const stranger = "authorizer.serviceAccount('default', 'x').group('').resource('pods')"

const cases: [expression: string, holds: boolean][] = [
  [`${pods}.fieldSelector('spec.nodeName=x').labelSelector('a=b').check('list').allowed()`, true],
  [`${pods}.fieldSelector('').check('list').allowed()`, true],
  [`${pods}.fieldSelector('!!!').check('list').allowed()`, true],
  [`${pods}.fieldSelector('!!!').check('list').errored()`, false],
  [`${pods}.labelSelector('a in').check('list').allowed()`, true],
  [`${pods}.labelSelector('a in').check('list').errored()`, false],
  [`${pods}.fieldSelector('a==').check('list').error() == ''`, true],
  ["authorizer.requestResource.fieldSelector('metadata.name=x').check('create').allowed()", true],
  [`${stranger}.fieldSelector('!!').labelSelector('in in in').check('list').allowed()`, false],
  [`${stranger}.fieldSelector('!!').check('list').reason() == ''`, true],
]

t.test('what cannot be parsed as a selector is no error of the check', async (t) => {
  const server = await startServer(t)
  const post = (path: string, body: object) => call(server, { method: 'POST', path, body })
  const rule = { apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] }
  await post(`${admission}/validatingadmissionpolicies`, {
    metadata: { name: 'p' },
    spec: {
      matchConstraints: { resourceRules: [{ ...rule, operations: ['CREATE'] }] },
      validations: cases.map(([expression], i) => ({ expression, message: `case ${i}` })),
    },
  })
  await post(`${admission}/validatingadmissionpolicybindings`, {
    metadata: { name: 'p' },
    spec: { policyName: 'p', validationActions: ['Warn'] },
  })
  const path = '/api/v1/namespaces/default/configmaps'
  const { status, headers } = await post(path, { metadata: { name: 'c' } })
  t.equal(status, 201)
  const failed = [...String(headers.warning).matchAll(/case (\d+)/g)].map(([, i]) => Number(i))
  cases.forEach(([expression, holds], i) => {
    t.equal(!failed.includes(i), holds, expression)
  })
})
