/** A delete beside other writes of the same object: what it decided of an older state does not count. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t from 'tap'
import { resources } from '#client/resources.js'
import { clientOf, startServer } from '../server/start-server.js'

t.test(
  'a Pod that is bound while it is deleted keeps its grace: its kubelet may run it',
  async (t) => {
    const folder = mkdtempSync(path.join(tmpdir(), 'kubelevel-races-'))
    t.teardown(() => rmSync(folder, { recursive: true }))
    // Writes that take their time: both are under way at once.
    const server = await startServer(t, {
      storage: `level:${path.join(folder, 'db')}`,
      disableAdmissionPlugins: ['ServiceAccount'],
    })
    const client = await clientOf(t, server)
    const namespace = 'default'
    let bound = 0
    for (const name of Array.from({ length: 20 }, (_, i) => `p${i}`)) {
      await client.create(resources.pods, {
        metadata: { name, namespace },
        spec: { containers: [{ name: 'c', image: 'i' }] },
      })
      const target = { kind: 'Node', name: 'n' }
      const binding = { apiVersion: 'v1', kind: 'Binding', metadata: { name, namespace }, target }
      const [isBound] = await Promise.all([
        client.create(resources.pods, binding, { name, subresource: 'binding' }).then(
          () => true,
          () => false,
        ),
        client.delete(resources.pods, { namespace, name }, { gracePeriodSeconds: 5 }),
      ])
      if (!isBound) continue
      bound++
      const pod = await client.get(resources.pods, { namespace, name })
      t.equal(pod.metadata.deletionGracePeriodSeconds, 5)
    }
    t.ok(bound > 0, 'some were bound first')
  },
)
