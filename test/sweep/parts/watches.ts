/** Many watches of every form on what random writes do meanwhile. */
import type { Dice } from '../../dice.js'
import { given } from '../../dice.js'
import { namespace, type Part, type Sweep } from '../sweep.js'
import { type Answer, open, type Request, read, type Target } from '../target.js'

const core = `/api/v1/namespaces/${namespace}`
const pods = `${core}/pods`
const maps = `${core}/configmaps`
const merge = { 'content-type': 'application/merge-patch+json' }

const podOf = (name: string, { pick, maybe, below }: Dice) => ({
  metadata: given({
    name,
    labels: given({ a: pick(['1', '2']), b: maybe(() => 'x') }),
    finalizers: maybe(() => ['x/y'], 4),
  }),
  spec: given({
    nodeName: maybe(() => `n${below(2)}`),
    terminationGracePeriodSeconds: pick([0, 30]),
    containers: [{ name: 'c', image: 'i' }],
  }),
})

const writes: readonly ((dice: Dice) => Request)[] = [
  (dice) => ({ method: 'POST', path: pods, body: podOf(`p${dice.below(4)}`, dice) }),
  (dice) => ({ method: 'POST', path: pods, body: podOf(`p${dice.below(4)}`, dice) }),
  ({ below, pick }) => ({
    method: 'PATCH',
    path: `${pods}/p${below(4)}`,
    body: { metadata: { labels: { a: pick(['1', '2', null]), b: pick(['x', null]) } } },
    headers: merge,
  }),
  ({ below, pick }) => ({
    method: 'PATCH',
    path: `${pods}/p${below(4)}/status`,
    body: { status: { phase: pick(['Running', 'Succeeded', 'Pending']) } },
    headers: merge,
  }),
  ({ below, pick }) => ({
    method: 'DELETE',
    path: `${pods}/p${below(4)}${pick(['', '?gracePeriodSeconds=0', '?gracePeriodSeconds=5'])}`,
  }),
  ({ below }) => ({
    method: 'PATCH',
    path: `${pods}/p${below(4)}`,
    body: { metadata: { finalizers: null } },
    headers: merge,
  }),
  ({ below }) => {
    const name = `p${below(4)}`
    const body = { metadata: { name }, target: { kind: 'Node', name: `n${below(2)}` } }
    return { method: 'POST', path: `${pods}/${name}/binding`, body }
  },
  ({ below, pick }) => ({
    method: 'POST',
    path: maps,
    body: {
      metadata: { name: `c${below(3)}`, labels: { a: pick(['1', '2']) } },
      data: { k: String(below(9)) },
    },
  }),
  ({ below, pick }) => ({
    method: 'PATCH',
    path: `${maps}/c${below(3)}`,
    body: { metadata: { labels: { a: pick(['1', '2']) } }, data: { k: String(below(9)) } },
    headers: merge,
  }),
  ({ below, pick }) => ({
    method: 'DELETE',
    path: pick([
      `${maps}/c${below(3)}`,
      `${pods}?labelSelector=a%3D1`,
      `${maps}?labelSelector=a%3D2`,
      `${pods}/p${below(4)}?propagationPolicy=Foreground`,
    ]),
  }),
]

/** VERSION stands for the version of a list before the writes. */
const queries = [
  ...['', 'resourceVersion=0', 'resourceVersion=VERSION', 'labelSelector=a%3D1', 'labelSelector=b'],
  ...['labelSelector=!b&resourceVersion=VERSION', 'fieldSelector=spec.nodeName%3Dn1'],
  ...['fieldSelector=metadata.name%3Dp1&resourceVersion=VERSION'],
  ...['fieldSelector=status.phase!%3DRunning'],
  ...['labelSelector=a%3D1&fieldSelector=spec.nodeName%3Dn0&resourceVersion=0'],
  ...['sendInitialEvents=true&resourceVersionMatch=NotOlderThan'],
  ...['sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan'],
  ...[
    'sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan&labelSelector=a%3D2&resourceVersion=VERSION',
  ],
  ...['sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion=VERSION'],
]
const watched = (path: string): string => path.replace('/v1/', '/v1/watch/')
const paths = [
  ...[`${pods}?watch=1`, `${maps}?watch=1`, `${pods}/p1?watch=1`],
  ...[`${watched(pods)}?`, `${watched(pods)}/p2?`],
]
const medias = [
  '',
  'application/json;as=Table;v=v1;g=meta.k8s.io',
  'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io',
  'application/yaml',
]

interface OpenWatch {
  /** Ends it; what came until then, without bookmarks of the clock. */
  close(): Promise<Answer>
}

const isOfClock = (frame: string): boolean =>
  frame.includes('"BOOKMARK"') && !frame.includes('initial-events-end')

/**
 * Upstream notes that a watch was sent a Table's header when it makes the event; one that another watch made already is sent
 * without a note, and the next with a header again.
 */
const withoutHeader = (frame: string): string =>
  frame.replace(/"columnDefinitions":(?:null|\[.*?\])(?=,"rows")/, '"columnDefinitions":…')

const openWatch = (target: Target, request: Request): OpenWatch => {
  const exchange = open(target, request)
  let text = ''
  let code = 0
  const listen = async () => {
    const response = await exchange.response
    code = response.statusCode!
    for await (const chunk of response.setEncoding('utf8')) text += chunk
  }
  // It ends by being cut: what had come counts.
  const whole = listen().catch(() => undefined)
  return {
    close: async () => {
      exchange.request.destroy()
      await whole
      const frames = text.split('\n').filter((frame) => !isOfClock(frame))
      const [first = '', ...later] = frames
      return { code, text: [first, ...later.map(withoutHeader)].join('\n'), warning: '' }
    },
  }
}

const patience = 2000
const pause = () => new Promise((resolve) => setTimeout(resolve, patience))
const writesAtFullShare = 600

const write = async (sweep: Sweep, dice: Dice, count: number): Promise<void> => {
  for (let i = 0; i < count; i++) await sweep.prepare(dice.pick(writes)(dice))
}

const clear = async (sweep: Sweep): Promise<void> => {
  for (let i = 0; i < 4; i++)
    await sweep.prepare({
      method: 'PATCH',
      path: `${pods}/p${i}`,
      body: { metadata: { finalizers: null } },
      headers: merge,
    })
  for (const path of [pods, maps])
    await sweep.prepare({ method: 'DELETE', path: `${path}?gracePeriodSeconds=0` })
}

export const watches: Part = {
  name: 'watches',
  play: async (sweep, dice) => {
    await clear(sweep)
    const { server, against } = sweep
    const versions = new Map<Target, string>()
    for (const target of [server, against])
      versions.set(target, (await read(target, pods)).metadata.resourceVersion)
    await write(sweep, dice, 10)
    const opened = paths.flatMap((path) =>
      queries.flatMap((query) =>
        medias
          .filter((media) => media === '' || dice.oneIn(2))
          .map((accept) => {
            const request = { method: 'GET', path: `${path}&${query}`, headers: { accept } }
            const start = (target: Target) =>
              openWatch(target, {
                ...request,
                path: request.path.replace('VERSION', versions.get(target)!),
              })
            return { request, server: start(server), against: start(against) }
          }),
      ),
    )
    await pause()
    await write(sweep, dice, Math.ceil(writesAtFullShare * sweep.share))
    await pause()
    for (const { request, ...sides } of opened)
      sweep.note(
        { where: 'watch', request },
        { server: await sides.server.close(), against: await sides.against.close() },
      )
    await clear(sweep)
  },
}
