/** Writes through subresources that are refused, with what kube-apiserver v1.36 answered to each. */
import t from 'tap'
import { readRecorded } from '../recorded.js'
import { call, startServer } from './start-server.js'

interface Sent {
  method: string
  path: string
  body: object
}
interface Answered extends Sent {
  code: number
  causes?: string[]
  message?: string
}

const { setup, requests } = readRecorded<{ setup: Sent[]; requests: Answered[] }>(
  'server/subresources',
)

t.test('a write through a subresource is checked as upstream checks it', async (t) => {
  const server = await startServer(t, {
    storage: 'memory:',
    disableAdmissionPlugins: ['ServiceAccount'],
  })
  const send = ({ method, path, body }: Sent) => {
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'
    return call(server, { method, path, body, headers: { 'content-type': type } })
  }
  for (const sent of setup) t.ok((await send(sent)).status < 300, `${sent.method} ${sent.path}`)
  for (const { code, causes, message, ...sent } of requests) {
    const { status, body } = await send({ ...sent, path: `${sent.path}?dryRun=All` })
    const given: { field: string; message: string }[] = body.details?.causes ?? []
    t.same(
      { code: status, causes: given.map((cause) => `${cause.field}: ${cause.message}`) },
      { code, causes: causes ?? [] },
      `${sent.path} ${JSON.stringify(sent.body).slice(0, 300)}`,
    )
    if (message !== undefined) t.equal(body.message, message)
  }
})

t.test('what is no schema in a definition is not there', async (t) => {
  const server = await startServer(t, { storage: 'memory:' })
  const schemaOf = async (items: unknown) => {
    const { body } = await call(server, {
      method: 'POST',
      path: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All',
      body: {
        metadata: { name: 'things.example.com' },
        spec: {
          group: 'example.com',
          scope: 'Cluster',
          names: { plural: 'things', kind: 'Thing' },
          versions: [
            {
              ...{ name: 'v1', served: true, storage: true },
              schema: { openAPIV3Schema: { type: 'object', items } },
            },
          ],
        },
      },
    })
    return body.spec?.versions[0].schema.openAPIV3Schema ?? body.message
  }
  for (const items of ['x', []]) t.same(await schemaOf(items), { type: 'object' })
})

t.test('a review of a token keeps of a status what it has nothing to say to', async (t) => {
  const server = await startServer(t, { storage: 'memory:' })
  const review = async (token: string) => {
    const status = { user: { username: 'sent', groups: ['g'] }, audiences: ['sent'], error: 'sent' }
    const { body } = await call(server, {
      method: 'POST',
      path: '/apis/authentication.k8s.io/v1/tokenreviews',
      body: { spec: { token }, status },
    })
    return body.status
  }
  t.same(await review('unknown'), {
    user: { username: 'sent', groups: ['g'] },
    audiences: ['sent'],
    error: 'invalid bearer token',
  })
  const { user, audiences, ...others } = await review(server.adminToken)
  t.not(user.username, 'sent')
  t.notSame(audiences, ['sent'])
  t.same(others, { authenticated: true, error: 'sent' })
})
