import t from 'tap'
import { answerThat, call, startWithLimits } from './start-server.js'

const services = '/api/v1/namespaces/default/services'

t.test(
  'a Service goes even if its address cannot be given back, which is done later',
  async (t) => {
    const server = await startWithLimits(t, { allocationRepairMs: 100 })
    const write = async (path: string, body: object) => {
      const { status, body: made } = await call(server, { method: 'POST', path, body })
      t.equal(status, 201)
      return made
    }
    const { spec } = await write(services, {
      metadata: { name: 'a' },
      spec: { ports: [{ port: 80 }] },
    })
    // Nobody listens at port 1.
    const webhook = {
      name: 'addresses.example.com',
      clientConfig: { url: 'https://127.0.0.1:1/' },
      rules: [
        {
          operations: ['DELETE'],
          apiGroups: ['networking.k8s.io'],
          apiVersions: ['*'],
          resources: ['ipaddresses'],
        },
      ],
      sideEffects: 'None',
      admissionReviewVersions: ['v1'],
    }
    const webhooks = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations'
    await write(webhooks, { metadata: { name: 'w' }, webhooks: [webhook] })
    t.equal((await call(server, { method: 'DELETE', path: `${services}/a` })).status, 200)
    const path = `/apis/networking.k8s.io/v1/ipaddresses/${spec.clusterIP}`
    t.equal((await call(server, { path })).status, 200)
    await call(server, { method: 'DELETE', path: `${webhooks}/w` })
    // A young address might be that of a create that is still under way.
    server.clock.advance('2m')
    await answerThat(server, { path }, 'is given back', ({ status }) => status === 404)
  },
)
