/** A server that changes nothing; its answers are those of kube-apiserver v1.36.3. */
import path from 'node:path'
import t from 'tap'
import { createServer } from '../../create-server.js'
import { temporaryDirectory } from '../../storage/level-fixture.js'
import { call, startServer } from '../start-server.js'

const enableAdmissionPlugins = ['AlwaysDeny']
const why = 'admission control is denying all modifications'

t.test('a cluster that has nothing yet cannot begin with AlwaysDeny', (t) =>
  t.rejects(createServer({ enableAdmissionPlugins, logLevel: 'silent' }), {
    message: new RegExp(why),
  }),
)

t.test(
  'AlwaysDeny refuses whatever would change something, the server starts on what is there',
  async (t) => {
    const storage = `level:${path.join(temporaryDirectory(t), 'db')}`
    const pods = '/api/v1/namespaces/default/pods'
    const spec = { containers: [{ name: 'c', image: 'i' }] }
    const before = await createServer({ storage, logLevel: 'silent' })
    const maps = '/api/v1/namespaces/default/configmaps'
    await call(before, { method: 'POST', path: maps, body: { metadata: { name: 'c' } } })
    await before.close()
    const server = await startServer(t, {
      storage,
      enableAdmissionPlugins,
      disableAdmissionPlugins: ['ServiceAccount'],
    })
    const review = { spec: { resourceAttributes: { verb: 'get', resource: 'pods' } } }
    const requests: [method: string, path: string, body: object | undefined, what: string][] = [
      ['POST', '/api/v1/namespaces', { metadata: { name: 'x' } }, 'namespaces "x"'],
      [
        'PUT',
        '/api/v1/namespaces/default',
        { metadata: { name: 'default' } },
        'namespaces "default"',
      ],
      ['POST', pods, { metadata: { generateName: 'x-' }, spec }, 'pods "x-"'],
      ['DELETE', `${maps}/c`, undefined, 'configmaps "c"'],
      ['DELETE', maps, undefined, 'configmaps "Unknown"'],
      [
        'POST',
        '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
        review,
        'selfsubjectaccessreviews.authorization.k8s.io "Unknown"',
      ],
    ]
    for (const [method, path, body, what] of requests) {
      const answer = await call(server, { method, path, body })
      t.equal(answer.status, 403, path)
      t.equal(answer.body.message, `${what} is forbidden: ${why}`)
    }
    t.equal((await call(server, { path: '/api/v1/namespaces/default' })).status, 200)
  },
)
