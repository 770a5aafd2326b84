/** What mutating webhooks see of a scale, as they see it of v1.36.3. */
import t from 'tap'
import { call, startServer } from '../start-server.js'
import { patchOf, startWebhook } from '../webhook-server.js'

const deployments = '/apis/apps/v1/namespaces/default/deployments'
const deployment = {
  metadata: { name: 'd' },
  spec: {
    replicas: 1,
    selector: { matchLabels: { a: 'b' } },
    template: {
      metadata: { labels: { a: 'b' } },
      spec: { containers: [{ name: 'c', image: 'i' }] },
    },
  },
}
const ownersOf = ({ metadata }: { metadata: { managedFields?: { manager: string }[] } }) =>
  metadata.managedFields?.map(({ manager }) => manager)

t.test(
  'a mutating webhook sees a Scale as it was sent, with its owners, before it is checked',
  async (t) => {
    const webhook = await startWebhook(t, ({ request: { object } }) => {
      if (object.spec.replicas !== 7) return { allowed: true }
      return patchOf([{ op: 'replace', path: '/spec/replicas', value: 3 }])
    })
    const server = await startServer(t)
    await call(server, {
      method: 'POST',
      path: `${deployments}?fieldManager=maker`,
      body: deployment,
    })
    const hook = {
      name: 'scales.example.com',
      clientConfig: webhook.clientConfig,
      rules: [
        {
          apiGroups: ['apps'],
          apiVersions: ['v1'],
          operations: ['UPDATE'],
          resources: ['deployments/scale'],
        },
      ],
      sideEffects: 'None',
      admissionReviewVersions: ['v1'],
    }
    const made = await call(server, {
      method: 'POST',
      path: '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations',
      body: { metadata: { name: 'scales' }, webhooks: [hook] },
    })
    t.equal(made.status, 201)
    const put = (replicas: number) =>
      call(server, {
        method: 'PUT',
        path: `${deployments}/d/scale?fieldManager=scaler`,
        body: {
          kind: 'Scale',
          apiVersion: 'autoscaling/v1',
          metadata: { name: 'd', labels: { sent: 'yes' } },
          spec: { replicas },
          status: { replicas: 9 },
        },
      })

    t.match(await put(7), { status: 200, body: { spec: { replicas: 3 } } })
    t.match(await put(-1), { status: 422 })
    t.equal((await call(server, { path: `${deployments}/d` })).body.spec.replicas, 3)

    const [{ object, oldObject }, invalid] = webhook.reviews.map(({ request }) => request)
    t.same(object.metadata.labels, { sent: 'yes' })
    t.notOk(object.metadata.uid, 'nobody sent one')
    t.same(object.status, { replicas: 9 })
    t.same(ownersOf(object), ['scaler'])
    t.match(oldObject, { spec: { replicas: 1 }, status: { selector: 'a=b' } })
    t.same(ownersOf(oldObject), ['maker'])
    t.equal(invalid.object.spec.replicas, -1)
    t.same(ownersOf(invalid.oldObject), ['scaler'])
  },
)
