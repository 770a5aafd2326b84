/**
 * Objects that are left of a namespace: its labels, and so whether a selector means them, cannot be known any more. The
 * answers are those of kube-apiserver v1.36.3.
 */
import t from 'tap'
import { call, startServer } from '../server/start-server.js'

const group = '/apis/admissionregistration.k8s.io/v1'
const namespaceSelector = { matchExpressions: [{ key: 'x', operator: 'NotIn', values: ['y'] }] }
const rule = {
  ...{ apiGroups: [''], apiVersions: ['v1'], operations: ['DELETE'], resources: ['configmaps'] },
}
const gone = 'namespaces "gone" not found'

t.test('no webhook and no policy can select a namespace that is gone', async (t) => {
  const server = await startServer(t)
  const create = async (path: string, body: object) => {
    const made = await call(server, { method: 'POST', path, body })
    t.equal(made.status, 201, made.text)
  }
  const namespaces = '/api/v1/namespaces'
  await create(namespaces, { metadata: { name: 'gone' } })
  await create(`${namespaces}/gone/configmaps`, { metadata: { name: 'left' } })
  await call(server, { method: 'DELETE', path: `${namespaces}/gone` })
  const body = { metadata: { name: 'gone' }, spec: { finalizers: [] } }
  await call(server, { method: 'PUT', path: `${namespaces}/gone/finalize`, body })
  t.equal((await call(server, { path: `${namespaces}/gone` })).status, 404)
  const remove = async () => {
    const path = `${namespaces}/gone/configmaps/left?dryRun=All`
    const answer = await call(server, { method: 'DELETE', path })
    return answer.status === 200 ? 200 : `${answer.status} ${answer.body.message}`
  }
  t.equal(await remove(), 200)
  for (const kind of ['validating', 'mutating']) {
    const path = `${group}/${kind}webhookconfigurations`
    const answered = async (selects: boolean) => {
      const webhook = {
        ...{ name: 'h.example.com', clientConfig: { url: 'https://127.0.0.1:1/' } },
        ...{ failurePolicy: 'Ignore', rules: [rule], sideEffects: 'None' },
        ...(selects && { namespaceSelector }),
        admissionReviewVersions: ['v1'],
      }
      await create(path, { metadata: { name: 'h' }, webhooks: [webhook] })
      const answer = await remove()
      await call(server, { method: 'DELETE', path: `${path}/h` })
      return answer
    }
    t.equal(await answered(false), 200)
    t.equal(await answered(true), `404 ${gone}`, kind)
  }
  const refusal = (who: string, what: string) =>
    `422 configmaps "left" is forbidden: ValidatingAdmissionPolicy 'p'${who} denied request: failed to configure ${what}: ${gone}`
  for (const [failurePolicy, where, answer] of [
    // Expressions may ask for the namespace.
    ['Ignore', 'nowhere', `404 ${gone}`],
    ['Fail', 'policy', refusal('', 'policy')],
    ['Ignore', 'policy', 200],
    ['Fail', 'binding', refusal(" with binding 'p'", 'binding')],
    ['Ignore', 'binding', 200],
  ] as const) {
    const metadata = { name: 'p' }
    const selector = (here: string) => (here === where ? { namespaceSelector } : {})
    await create(`${group}/validatingadmissionpolicies`, {
      metadata,
      spec: {
        failurePolicy,
        matchConstraints: { resourceRules: [rule], ...selector('policy') },
        validations: [{ expression: 'true' }],
      },
    })
    await create(`${group}/validatingadmissionpolicybindings`, {
      metadata,
      spec: {
        ...{ policyName: 'p', validationActions: ['Deny'] },
        matchResources: selector('binding'),
      },
    })
    t.equal(await remove(), answer, `${failurePolicy} ${where}`)
    for (const resource of ['validatingadmissionpolicybindings', 'validatingadmissionpolicies'])
      await call(server, { method: 'DELETE', path: `${group}/${resource}/p` })
  }
})
