/** How often drivers are called, and whose group files get. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t, { type Test } from 'tap'
import { silentLog } from '#client/log.js'
import { CsiFolders } from '#kubelet/csi/csi-folders.js'
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
}
const podOf = (uid: string) => ({ metadata: { uid } }) as unknown as Pod

const volumesFor = (t: Test, driver: object) => {
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
    report: async () => {},
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
      t.equal(volumes.isRepublished('a'), requiresRepublish)
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
