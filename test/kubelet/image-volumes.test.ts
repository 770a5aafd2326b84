/** Volumes that are images. */
import t from 'tap'
import { eventually } from '../eventually.js'
import { containerdMissing, imageName, imageVolumesMissing, startContainerd } from './containerd.js'
import { script, startNode } from './node.js'

const volumeMounts = [
  { name: 'tools', mountPath: '/tools' },
  { name: 'tools', mountPath: '/bins', subPathExpr: '$(FOLDER)' },
]

t.test(
  'a container sees the files of an image, and writes none',
  { skip: imageVolumesMissing() },
  async (t) => {
    const containerd = await startContainerd()
    t.teardown(() => containerd.stop())
    const node = await startNode(t, { kubelet: 'process', endpoint: containerd.endpoint })
    await node.startProcess()
    const main = {
      ...script(
        'cmp /tools/bin/busybox /bin/busybox && cmp /bins/busybox /bin/busybox && ! touch /tools/new && exit 7',
      ),
      image: imageName,
      env: [{ name: 'FOLDER', value: 'bin' }],
      volumeMounts,
    }
    const volumes = [{ name: 'tools', image: { reference: imageName, pullPolicy: 'Never' } }]
    await node.run('reads', main, { restartPolicy: 'Never', volumes })
    const { status } = await node.until('reads', (pod) => pod.status?.phase === 'Failed')
    t.match(status!.containerStatuses![0], { state: { terminated: { exitCode: 7 } } })
  },
)

t.test(
  'an image for a volume is pulled as one of a container',
  { skip: containerdMissing },
  async (t) => {
    const containerd = await startContainerd()
    t.teardown(() => containerd.stop())
    const node = await startNode(t, { kubelet: 'process', endpoint: containerd.endpoint })
    await node.startProcess()
    const main = { image: imageName, volumeMounts: volumeMounts.slice(0, 1) }
    const run = (name: string, reference: string, pullPolicy: string) =>
      node.run(name, main, { volumes: [{ name: 'tools', image: { reference, pullPolicy } }] })
    await run('none', 'none.invalid/none:1', 'IfNotPresent')
    await run('never', 'none.invalid/none:1', 'Never')
    for (const [name, reason] of Object.entries({
      none: 'ErrImagePull',
      never: 'ErrImageNeverPull',
    })) {
      await node.until(
        name,
        ({ status }) => status?.containerStatuses?.[0]?.state.waiting?.reason === reason,
      )
      await eventually('the Event', async () =>
        (await node.events(name)).some(
          (one) => one.reason === 'Failed' && one.message === `Error: ${reason}`,
        ),
      )
      await node.delete(name, 0)
    }
  },
)
