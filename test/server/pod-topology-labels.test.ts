/** What a Pod takes over from its node's labels; as v1.36.3. */
import t from 'tap'
import { call, startServer } from './start-server.js'

t.test(
  'a Pod that is bound gets the zone of its node if the binding says that it is a node',
  async (t) => {
    const server = await startServer(t, { disableAdmissionPlugins: ['ServiceAccount'] })
    const send = (method: string, path: string, body?: object) =>
      call(server, { method, path: `/api/v1/${path}`, ...(body === undefined ? {} : { body }) })
    const zone = 'topology.kubernetes.io/zone'
    await send('POST', 'nodes', { metadata: { name: 'n', labels: { [zone]: 'z', other: 'o' } } })
    const pods = 'namespaces/default/pods'
    const labelsBy = async (name: string, target: object) => {
      const metadata = { name, labels: { [zone]: 'own' } }
      await send('POST', pods, { metadata, spec: { containers: [{ name: 'c', image: 'i' }] } })
      await send('POST', `${pods}/${name}/binding`, { metadata: { name }, target })
      const { body } = await send('GET', `${pods}/${name}`)
      t.equal(body.spec.nodeName, 'n')
      return body.metadata.labels
    }
    t.strictSame(await labelsBy('a', { kind: 'Node', name: 'n' }), { [zone]: 'z' })
    t.strictSame(await labelsBy('b', { name: 'n' }), { [zone]: 'own' })
  },
)
