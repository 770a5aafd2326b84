/** What is told of images that are pulled, or cannot be; as kubelet v1.36 tells it of the same Pods on a containerd. */
import t from 'tap'
import { silentLog } from '#client/log.js'
import { type ImagePullDeps, ImagePulls } from '#kubelet/images/image-pulls.js'
import { PullRecords } from '#kubelet/images/pull-records.js'
import type { StartError } from '#kubelet/runtime.js'
import { limits } from '#limits'

const pinned = 'registry.example/app:1'
const { signal } = new AbortController()

/** `pull` is what the runtime does when it is asked for an image that it has not. */
const makeImages = (
  present: boolean | Error,
  pull: (signal: AbortSignal) => Promise<string>,
  image = pinned,
) => {
  const events: string[] = []
  const asked: string[] = []
  let now = 0
  let pulled = false
  const deps: ImagePullDeps = {
    runtime: {
      findImage: async (name) => {
        asked.push(name)
        if (present instanceof Error) throw present
        return present || pulled
          ? { id: 'sha256:1', sizeBytes: 7, uid: undefined, userName: '' }
          : undefined
      },
      pullImage: async (name, _credentials, ended) => {
        asked.push(name)
        const id = await pull(ended)
        now += 1_250
        pulled = true
        return id
      },
    },
    event: (type, reason, message) => events.push(`${type} ${reason} ${message}`),
  }
  const clock = { now: () => now }
  const pullRecords = new PullRecords({ rootDir: t.testdir(), clock, log: silentLog })
  const backoff = { initialMs: 10_000, maxMs: 30_000 }
  const pulls = new ImagePulls({ clock, backoff, pullRecords, nodeLogins: async () => [] })
  return {
    events: () => events.splice(0),
    asked: () => asked.splice(0),
    pass: (ms: number) => (now += ms),
    ensure: (policy: string, ended = signal, asked = image) =>
      pulls
        .ensure(deps, {
          ...{
            image: asked,
            pullPolicy: policy,
            containerName: 'main',
            secrets: [],
            signal: ended,
          },
        })
        .catch((error: StartError) => ({
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
      `Normal Pulling Pulling image "${pinned}"`,
      `Normal Pulled Successfully pulled image "${pinned}" in 1.25s (1.25s including waiting). Image size: 7 bytes.`,
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
      `Normal Pulling Pulling image "${pinned}"`,
      `Warning Failed Failed to pull image "${pinned}": connection refused`,
    ])
    images.pass(1_000)
    // Told of again every 10 s while it lasts.
    for (let leftMs = waitMs - 1_000; leftMs > 0; leftMs -= 10_000) {
      const retryMs = Math.min(leftMs, 10_000)
      t.match(await images.ensure('Always'), {
        reason: 'ImagePullBackOff',
        message: `Back-off pulling image "${pinned}": ErrImagePull: connection refused`,
        retryMs,
      })
      t.same(images.events(), [`Normal BackOff Back-off pulling image "${pinned}"`])
      images.pass(retryMs)
    }
  }
})

t.test('what is no name of an image, or cannot be looked at, is not pulled', async (t) => {
  const nameless = makeImages(false, refused, 'Registry/App')
  const message =
    'Failed to apply default image tag "Registry/App": couldn\'t parse image name "Registry/App": invalid reference format: repository name (App) must be lowercase'
  t.match(await nameless.ensure('Always'), { reason: 'InvalidImageName', message })
  t.same(nameless.events(), [`Warning InspectFailed ${message}`])
  const hidden = makeImages(new Error('no answer'), refused)
  t.match(await hidden.ensure('IfNotPresent'), { reason: 'ImageInspectError' })
  t.same(hidden.events(), ['Warning InspectFailed Failed to inspect image "": no answer'])
  const tagless = makeImages(false, refused, 'app')
  await tagless.ensure('IfNotPresent')
  t.same(tagless.asked(), ['app:latest', 'app:latest'], 'the runtime is asked by its tag')
})

t.test('errors that a runtime names have reasons of their own', async (t) => {
  const away = makeImages(false, () => Promise.reject(new Error('RegistryUnavailable: 503')))
  t.match(await away.ensure('Always'), {
    reason: 'RegistryUnavailable',
    message: `image pull failed for ${pinned} because the registry is unavailable: 503`,
  })
})

t.test('a pull that ends with its Pod has not failed', async (t) => {
  const end = new AbortController()
  const images = makeImages(
    false,
    (ended) =>
      new Promise((_, reject) => {
        ended.addEventListener('abort', () => reject(new Error('cancelled')))
        end.abort()
      }),
  )
  const pull = images.ensure('Always', end.signal)
  t.match(await pull, { message: 'cancelled' })
  t.same(images.events(), [`Normal Pulling Pulling image "${pinned}"`])
})

t.test('it begins anew after twice its longest time, and not with a success', async (t) => {
  let isThere = false
  const images = makeImages(false, () => (isThere ? Promise.resolve('sha256:2') : refused()))
  await images.ensure('Always')
  images.pass(10_000)
  isThere = true
  t.equal(await images.ensure('Always'), 'sha256:2')
  isThere = false
  await images.ensure('Always')
  images.pass(19_999)
  t.match(await images.ensure('Always'), { reason: 'ImagePullBackOff', retryMs: 1 })
  images.pass(60_000)
  await images.ensure('Always')
  images.pass(9_999)
  t.match(await images.ensure('Always'), { reason: 'ImagePullBackOff', retryMs: 1 })
})

t.test('of very many images that failed the first is forgotten', async (t) => {
  const images = makeImages(false, refused)
  await images.ensure('Always')
  for (let n = 0; n < limits.imageFailuresKept; n++)
    await images.ensure('Always', signal, `${pinned}.${n}`)
  t.match(await images.ensure('Always', signal, `${pinned}.9`), { reason: 'ImagePullBackOff' })
  t.match(await images.ensure('Always'), { reason: 'ErrImagePull' })
})
