/** `kubelevel up` has a default StorageClass, so that what keeps data comes up as in any cluster. */
import { existsSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { packageRoot } from '#program/package-root.js'
import { eventually } from '../eventually.js'
import { kubectlMissing, startProcessTree } from './process-tree.js'

const example = fileURLToPath(new URL('examples/notes.yaml', packageRoot))

t.test(
  'a StatefulSet finds its data again, until its claim is deleted',
  { skip: kubectlMissing },
  async (t) => {
    const tree = await startProcessTree(t)
    const { k, kubectl } = tree
    await kubectl('apply', '-f', example)
    const starts = (n: number) =>
      eventually(`start ${n}`, async () => {
        const script = 'wc -l < $CONTAINER_ROOT/data/starts'
        const said = await kubectl('exec', 'notes-0', '--', 'sh', '-c', script).catch(() => '')
        return Number(said) === n
      })
    await starts(1)
    await k('delete pod notes-0')
    await starts(2)
    await tree.stop()
    await tree.start()
    await starts(3)

    const volume = await k('get pvc data-notes-0 -o jsonpath={.spec.volumeName}')
    const folder = path.join(tree.folder, 'data/volumes/default', volume)
    t.ok(existsSync(folder))
    await k('delete pvc data-notes-0 --wait=false')
    t.match(await k('get pvc'), /data-notes-0\s+Terminating/, 'its Pod holds it')
    await k('scale statefulset notes --replicas=0')
    await eventually('the end of its volume', async () => (await k('get pv -o name')) === '')
    t.notOk(existsSync(folder))
  },
)
