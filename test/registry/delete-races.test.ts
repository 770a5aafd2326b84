/** A delete beside other writes of the same object: what it decided of an older state does not count. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t from 'tap'
import { createClient } from '#client/client.js'
import { parseKubeconfig } from '#client/kubeconfig.js'
import { resources } from '#client/resources.js'
import { createServer } from '#server/create-server.js'

t.test(
  'a Pod that is bound while it is deleted keeps its grace: its kubelet may run it',
  async (t) => {
    const folder = mkdtempSync(path.join(tmpdir(), 'kubelevel-races-'))
    // Writes that take their time: both are under way at once.
    const server = await createServer({
      storage: `level:${path.join(folder, 'db')}`,
      port: 0,
      logLevel: 'silent',
      disableAdmissionPlugins: ['ServiceAccount'],
    })
    const client = createClient(await parseKubeconfig(server.kubeconfig), 'test')
    t.teardown(async () => {
      client.close()
      await server.close()
      rmSync(folder, { recursive: true })
    })
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
