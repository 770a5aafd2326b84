/** The stories of kill-points.test.ts with real containers: containerd, runc, a CNI network. */
import t from 'tap'
import { containerdMissing, startContainerd } from '../kubelet/containerd.js'
import { playCasesOfCi, storiesTimeoutMs } from './play-cases-of-ci.js'

t.setTimeout(storiesTimeoutMs)
t.test('stories end as they should with containers', { skip: containerdMissing }, async (t) => {
  const containerd = await startContainerd()
  t.teardown(() => containerd.stop())
  await playCasesOfCi(t, containerd.endpoint)
})
