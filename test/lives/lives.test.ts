/** Two nodes of ours told the same: silent where they are the same, and not where one of them does less. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t, { type Test } from 'tap'
import { resourcePath, resources } from '#client/resources.js'
import { startFreshServer } from '../sweep/fresh-server.js'
import { compareAll } from '../worlds/compare-all.js'
import { container, exec, obeys } from './containers.js'
import { differenceOf } from './difference.js'
import { type Body, type Life, life } from './life.js'
import { adminOf, openPlace, ourSide, type Place, writeKubeconfig } from './place.js'
import { playLife, podOf } from './play.js'
import { lifeOf } from './random.js'
import { written } from './written.js'

/** Pods are processes of this host. */
const start = async (t: Test): Promise<Place> => {
  const server = await startFreshServer('player')
  t.teardown(() => server.close())
  const folder = mkdtempSync(path.join(tmpdir(), 'kubelevel-lives-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const options = { client: adminOf(server), folder, kubeconfig: writeKubeconfig(server, folder) }
  const side = (name: string) => ourSide(name, { ...options, flags: ['--pod-cidr', 'none'] })
  const { place, close } = await openPlace({
    ...options,
    ours: side('ours'),
    against: side('against'),
  })
  t.teardown(close)
  return place
}

const played = (name: string, script: string, more: Body = {}): Life =>
  life(
    name,
    [container('main', script, { lifecycle: { preStop: exec('l pre') }, ...more })],
    { terminationGracePeriodSeconds: 30 },
    'until ready, until said main start, delete, until gone',
  )

/** How often a life is played once more that was told of, or not, for the moment's sake. */
const again = 20

/** Of our side alone, and what is told of it. */
const plants: readonly (readonly [Life, RegExp])[] = [
  [played('hook', obeys(), { lifecycle: {} }), /^ {2}against main pre$/m],
  [played('late', obeys(0, 'sleep 5;')), /^ {2}until gone: after [\d.]+ s, against [\d.]+ s$/m],
  [played('code', obeys(4)), /^ {2}ours {4}status\.phase: "Failed"$/m],
  [played('image', obeys(), { image: 'example.com/x' }), /ours .* Pulled .*example\.com\/x/],
]

t.test('what one of two nodes does otherwise is told, and nothing else', async (t) => {
  const place = await start(t)
  const told = async (ours: Life) => {
    const against = played(ours.name, obeys())
    const stories = await playLife(place, against, ours)
    return differenceOf(stories.ours, stories.against, Number.POSITIVE_INFINITY)
  }
  await compareAll([played('same', obeys())], { atOnce: 1, again }, told, (_, lines) =>
    t.same(lines, []),
  )
  // The moment may hide what differs, as it may show what does not.
  const toldOnce = async ([ours, shown]: (typeof plants)[number]) => {
    for (let left = again; ; left--) {
      const lines = (await told(ours)).join('\n')
      if (left === 0 || shown.test(lines)) return lines
    }
  }
  await Promise.all(
    plants.map(async (plant) => t.match(await toldOnce(plant), plant[1], plant[0].name)),
  )
})

t.test('lives begin with Pods that there can be', async (t) => {
  const server = await startFreshServer('reader')
  t.teardown(() => server.close())
  const client = adminOf(server)
  t.teardown(() => client.close())
  const random = Array.from({ length: 100 }, (_, i) => lifeOf(i + 1))
  for (const one of [...written, ...random])
    await client.request({
      method: 'POST',
      path: resourcePath(resources.pods, { namespace: 'default' }),
      query: { dryRun: 'All' },
      body: podOf(one, { name: one.name }, 'node', { folder: '/ears', file: '/ears/one' }),
    })
})
