/** How often drivers are called, and whose group files get. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t, { type Test } from 'tap'
import type { EventRecorder } from '#client/event-recorder.js'
import { silentLog } from '#client/log.js'
import { CsiFolders } from '#kubelet/csi/csi-folders.js'
import type { Growth } from '#kubelet/csi/csi-growth.js'
import type { CsiMounter } from '#kubelet/csi/csi-mounter.js'
import { type CsiVolume, takesGroup } from '#kubelet/csi/csi-volume.js'
import { CsiVolumes } from '#kubelet/csi/csi-volumes.js'
import type { ObjectReader } from '#kubelet/object-reader.js'
import type { Pod } from '#kubelet/pod.js'

const volume: CsiVolume = {
  specName: 'pv',
  driver: 'd.example',
  volumeHandle: 'h',
  isEphemeral: false,
  fsType: '',
  attributes: {},
  isReadOnly: false,
  accessModes: ['ReadWriteOnce'],
  mountOptions: [],
  stageSecret: undefined,
  publishSecret: undefined,
  expandSecret: undefined,
  growth: undefined,
}
const podOf = (uid: string) => ({ metadata: { uid } }) as unknown as Pod

const volumesFor = (
  t: Test,
  driver: object,
  own: Partial<ConstructorParameters<typeof CsiVolumes>[0]> = {},
) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'kubelet-csi-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const calls: string[] = []
  const mounter = {
    stage: async () => calls.push('stage'),
    publish: async (_: object, { again }: { again: boolean }) =>
      calls.push(again ? 'publish again' : 'publish'),
  } as unknown as CsiMounter
  const reader = {
    csiDriver: async () => ({ spec: { attachRequired: false, ...driver } }),
  } as unknown as ObjectReader
  const { signal } = new AbortController()
  const volumes = new CsiVolumes({
    ...{ nodeName: 'n', reader, mounter, folders: new CsiFolders(folder), log: silentLog, signal },
    expander: { expand: async () => void calls.push('expand') },
    events: {} as EventRecorder,
    report: async () => {},
    ...own,
  })
  return { volumes, calls, signal }
}

t.test(
  'a volume is published once for a Pod, unless its driver wants to be asked again',
  async (t) => {
    for (const requiresRepublish of [false, true]) {
      const { volumes, calls, signal } = volumesFor(t, { requiresRepublish })
      for (const uid of ['a', 'a', 'b']) await volumes.mount(podOf(uid), volume, signal)
      const again = requiresRepublish ? ['publish again'] : []
      t.strictSame(calls, ['stage', 'publish', ...again, 'publish'])
    }
  },
)

t.test('files go to the group of the Pod as the driver and the volume say', (t) => {
  const policy = 'ReadWriteOnceWithFSType'
  t.notOk(takesGroup(volume, policy), 'no file system is named')
  t.ok(takesGroup({ ...volume, fsType: 'ext4' }, policy))
  t.notOk(takesGroup({ ...volume, fsType: 'ext4', accessModes: ['ReadWriteMany'] }, policy))
  t.ok(takesGroup({ ...volume, accessModes: ['ReadWriteMany'] }, 'File'))
  t.notOk(takesGroup({ ...volume, isReadOnly: true }, 'File'))
  t.notOk(takesGroup({ ...volume, fsType: 'ext4' }, 'None'))
  t.end()
})

t.test('what fails to grow is told, and holds up only a Pod that has not started', async (t) => {
  const told: string[] = []
  let problem: Error | undefined = new Error('no room')
  const { volumes, calls, signal } = volumesFor(
    t,
    {},
    {
      expander: {
        expand: async () => {
          if (problem !== undefined) throw problem
        },
      },
      events: {
        event: (_subject, _type, reason, message) => void told.push(`${reason}: ${message}`),
      } as EventRecorder,
    },
  )
  const grown = { ...volume, growth: {} as Growth }
  const mount = () => volumes.mount(podOf('a'), grown, signal)
  await t.rejects(mount(), {
    message: 'MountVolume.MountDevice failed while expanding volume for volume "pv" : no room',
  })
  await t.rejects(mount())
  problem = undefined
  await mount()
  t.same(told, [])
  problem = new Error('no room')
  await mount()
  t.same(told, [
    'VolumeResizeFailed: NodeExpandVolume.NodeExpandVolume failed for volume "pv" : no room',
  ])
  t.same(calls, ['stage', 'publish'])
  t.equal(volumes.isFollowed('a'), true)
})
