/** How many seats requests are thought to take: lists with the figures of kube-apiserver 1.36.3 over 61 ConfigMaps of 30 KB. */
import { queryObjects } from 'node:v8'
import t from 'tap'
import { parseRequestInfo } from '#filters/request-info.js'
import { FlowFigures } from '#flowcontrol/flow-figures.js'
import { WatchCounts } from '#flowcontrol/watch-counts.js'
import { estimateWork } from '#flowcontrol/work-estimate.js'

const stored: Readonly<Record<string, { objects: number; bytes: number }>> = {
  configmaps: { objects: 61, bytes: 61 * 30_100 },
  pods: { objects: 0, bytes: 0 },
}

const asking = (method: string, path: string, widestSeats?: number) => {
  const figures = new FlowFigures('level', 'schema')
  const watches = new WatchCounts()
  const url = `/api/v1/${path}`
  const info = parseRequestInfo(method, url)
  const estimate = () =>
    estimateWork(
      { kube: { info }, url },
      { level: { widestSeats }, figures },
      { watches, sizeOf: ({ resource }) => stored[resource] },
    )
  const watch = (watched: string) => watches.add(parseRequestInfo('GET', `/api/v1/${watched}`))
  return { estimate, watch, figures }
}

const maps = 'namespaces/default/configmaps'

t.test('a list is as wide as what it holds at once', async (t) => {
  const rows: [seats: number, path: string, widest?: number][] = [
    [10, maps],
    [2, `${maps}?limit=5`],
    [10, `${maps}?resourceVersion=0`],
    [10, `${maps}?labelSelector=a%3Db`],
    [2, `${maps}?limit=5&continue=abc`],
    [10, `${maps}?limit=5&continue=abc&labelSelector=a%3Db`],
    [19, `${maps}?resourceVersion=1&resourceVersionMatch=Exact`],
    [16, `${maps}?resourceVersion=1&limit=50`],
    [1, `${maps}?resourceVersion=1&resourceVersionMatch=Exact&fieldSelector=metadata.name%3Dw1`],
    [100, `${maps}?limit=x`],
    [10, `${maps}?watch=1&timeoutSeconds=1`],
    [1, `${maps}?watch=1&resourceVersion=100000`],
    [10, `${maps}?watch=1&resourceVersion=5&sendInitialEvents=true`],
    [1, 'nothings'],
    [10, 'watch/namespaces/default/configmaps'],
    [1, 'pods'],
    [1, `${maps}/one`],
    [4, maps, 4],
    [4, `${maps}?limit=x`, 4],
  ]
  for (const [seats, path, widest] of rows) {
    const { initialSeats, finalSeats } = asking('GET', path, widest).estimate()
    t.same([initialSeats, finalSeats], [seats, 0], path)
  }
})

t.test(
  'a write has seats for those that are told of it, narrower for longer where it may have few',
  async (t) => {
    const widths = (count: number, widest?: number) => {
      const { estimate, watch, figures } = asking('PUT', `${maps}/one`, widest)
      for (let i = 0; i < count; i++) watch(i % 2 === 0 ? maps : 'configmaps')
      const { initialSeats, finalSeats, lingerMs } = estimate()
      t.equal(figures.watchers.sum, count)
      return [initialSeats, finalSeats, lingerMs].join()
    }
    t.equal(widths(9), '1,0,0')
    t.equal(widths(12), '1,2,5')
    t.equal(widths(12, 1), '1,1,10')
    t.equal(widths(1_000), '1,10,50')
  },
)

t.test('only watches that would see the write count, for as long as they last', async (t) => {
  const { estimate, watch, figures } = asking('PUT', `${maps}/one`)
  const watched = () => {
    const before = figures.watchers.sum
    estimate()
    return figures.watchers.sum - before
  }
  const forget = [
    'configmaps?watch=1',
    `${maps}?watch=1`,
    `${maps}?watch=1&fieldSelector=metadata.name%3Done`,
  ].map(watch)
  watch(`${maps}?watch=1&fieldSelector=metadata.name%3Dtwo`)
  watch('namespaces/other/configmaps?watch=1')
  watch('pods?watch=1')
  t.equal(watched(), 3)
  for (const forgetOne of forget) forgetOne()
  t.equal(watched(), 0)
  const pods = asking('POST', 'namespaces/default/pods')
  pods.watch('pods?watch=1&fieldSelector=spec.nodeName%3Dn1')
  pods.watch('pods?watch=1&fieldSelector=spec.nodeName%3D')
  pods.estimate()
  t.equal(pods.figures.watchers.sum, 1, 'those of one node are few')
  const token = asking('POST', 'namespaces/default/serviceaccounts/a/token')
  for (let i = 0; i < 20; i++) token.watch('serviceaccounts?watch=1')
  t.equal(token.estimate().finalSeats, 0, 'a token is written nowhere')
})

t.test('nothing is left of watches that are over, whatever group they named', async (t) => {
  const watches = new WatchCounts()
  const maps = () => Number(queryObjects(Map, { format: 'count' }))
  const watchOnce = (n: number) =>
    watches.add(parseRequestInfo('GET', `/apis/g${n}/v1/things?watch=1`))()
  const before = maps()
  for (let n = 0; n < 1_000; n++) watchOnce(n)
  t.ok(maps() < before + 100)
  t.equal(watches.of(parseRequestInfo('DELETE', '/apis/g1/v1/things/a')), 0)
})
