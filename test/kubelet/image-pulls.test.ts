/** What is told of images that are pulled, or cannot be; as kubelet v1.36 tells it of the same Pods on a containerd. */
import t from 'tap'
import { type ImagePullDeps, ImagePulls } from '#kubelet/image-pulls.js'
import type { StartError } from '#kubelet/runtime.js'

const image = 'registry.example/app:1'
const spec = (imagePullPolicy: string) => ({ name: 'main', image, imagePullPolicy })
const { signal } = new AbortController()

/** `pull` is what the runtime does when it is asked for an image that it has not. */
const makeImages = (present: boolean, pull: (signal: AbortSignal) => Promise<string>) => {
  const events: string[] = []
  let now = 0
  const deps: ImagePullDeps = {
    runtime: {
      findImage: async () => (present ? 'sha256:1' : undefined),
      pullImage: (_, ended) => pull(ended),
    },
    event: (type, reason, message) => events.push(`${type} ${reason} ${message}`),
  }
  const pulls = new ImagePulls({ now: () => now }, { initialMs: 10_000, maxMs: 30_000 })
  return {
    events: () => events.splice(0),
    pass: (ms: number) => (now += ms),
    ensure: (policy: string, ended = signal) =>
      pulls.ensure(deps, spec(policy), ended).catch((error: StartError) => ({
        reason: error.reason,
        message: error.message,
        retryMs: error.retryMs,
      })),
  }
}
const refused = () => Promise.reject(new Error('connection refused'))

t.test('an image is pulled when it is not there, or always', async (t) => {
  for (const [present, policy] of [
    [false, 'IfNotPresent'],
    [true, 'Always'],
  ] as const) {
    const images = makeImages(present, async () => 'sha256:2')
    t.equal(await images.ensure(policy), 'sha256:2')
    t.same(images.events(), [
      `Normal Pulling Pulling image "${image}"`,
      `Normal Pulled Successfully pulled image "${image}"`,
    ])
  }
  const there = makeImages(true, refused)
  t.equal(await there.ensure('IfNotPresent'), 'sha256:1')
  const never = makeImages(false, refused)
  t.match(await never.ensure('Never'), { reason: 'ErrImageNeverPull' })
})

t.test('an image that could not be pulled is left alone for longer and longer', async (t) => {
  const images = makeImages(false, refused)
  for (const waitMs of [10_000, 20_000, 30_000, 30_000]) {
    t.match(await images.ensure('Always'), {
      reason: 'ErrImagePull',
      message: 'connection refused',
      retryMs: undefined,
    })
    t.same(images.events(), [
      `Normal Pulling Pulling image "${image}"`,
      `Warning Failed Failed to pull image "${image}": connection refused`,
    ])
    images.pass(1_000)
    t.match(await images.ensure('Always'), {
      reason: 'ImagePullBackOff',
      message: `Back-off pulling image "${image}": ErrImagePull: connection refused`,
      retryMs: waitMs - 1_000,
    })
    t.same(images.events(), [`Normal BackOff Back-off pulling image "${image}"`])
    images.pass(waitMs - 1_000)
  }
})

t.test('a pull that ends with its Pod has not failed', async (t) => {
  const end = new AbortController()
  const images = makeImages(
    false,
    (ended) =>
      new Promise((_, reject) => {
        ended.addEventListener('abort', () => reject(new Error('cancelled')))
      }),
  )
  const pull = images.ensure('Always', end.signal)
  await new Promise(setImmediate)
  end.abort()
  t.match(await pull, { message: 'cancelled' })
  t.same(images.events(), [`Normal Pulling Pulling image "${image}"`])
})
