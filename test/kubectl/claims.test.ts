/** `kubelevel up` has a default StorageClass, so that what keeps data comes up as in any cluster. */
import { existsSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { eventually } from '../eventually.js'
import { kubectlMissing, startProcessTree } from './process-tree.js'

const labels = { app: 'db' }
const statefulSet = {
  apiVersion: 'apps/v1',
  kind: 'StatefulSet',
  metadata: { name: 'db' },
  spec: {
    serviceName: 'db',
    selector: { matchLabels: labels },
    persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Delete' },
    template: {
      metadata: { labels },
      spec: {
        terminationGracePeriodSeconds: 1,
        containers: [
          {
            name: 'c',
            image: 'sh',
            command: ['sh', '-c', 'echo start >> $CONTAINER_ROOT/data/starts; exec sleep 1000'],
            volumeMounts: [{ name: 'data', mountPath: '/data' }],
          },
        ],
      },
    },
    volumeClaimTemplates: [
      {
        metadata: { name: 'data' },
        spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
      },
    ],
  },
}

t.test(
  'a StatefulSet finds its data again, until it is deleted',
  { skip: kubectlMissing },
  async (t) => {
    const tree = await startProcessTree()
    t.teardown(async () => {
      await tree.stop()
      tree.remove()
    })
    const { k, kubectl } = tree
    const file = path.join(tree.folder, 'db.json')
    writeFileSync(file, JSON.stringify(statefulSet))
    await k(`apply -f ${file}`)
    const starts = (n: number) =>
      eventually(`start ${n}`, async () => {
        const script = 'grep -c start $CONTAINER_ROOT/data/starts'
        const said = await kubectl('exec', 'db-0', '--', 'sh', '-c', script).catch(() => '')
        return Number(said) === n
      })
    await starts(1)
    await k('delete pod db-0')
    await starts(2)
    await tree.stop()
    await tree.start()
    await starts(3)

    const volume = await k('get pvc data-db-0 -o jsonpath={.spec.volumeName}')
    const folder = path.join(tree.folder, 'data/volumes/default', volume)
    t.ok(existsSync(folder))
    await k('delete statefulset db')
    await eventually('the end of its volume', async () => (await k('get pv -o name')) === '')
    t.notOk(existsSync(folder))
  },
)
