/**
 * `node dist/bench/patch.js`: patches and applies of a Pod beside a plain update of it, by turns against one server.
 * The last column is the throughput in relation to the update.
 */
import { RawConnection } from './raw-client.js'
import { startOurs } from './rivals.js'
import { type Call, namespace, podBody, podsPath } from './workloads.js'

const connections = 8
const rounds = 6
const roundMs = 700

const json = (value: object): Buffer => Buffer.from(JSON.stringify(value))
const annotations = (n: number) => ({ metadata: { annotations: { count: String(n) } } })

const calls: Record<string, (name: string, n: number) => Omit<Call, 'path'> & { query?: string }> =
  {
    update: (name, n) => ({ method: 'PUT', body: podBody(name, 1, `registry.example/app:${n}`) }),
    'JSON patch': (_, n) => ({
      method: 'PATCH',
      type: 'application/json-patch+json',
      body: json([{ op: 'add', path: '/metadata/annotations', value: { count: String(n) } }]),
    }),
    'merge patch': (_, n) => ({
      method: 'PATCH',
      type: 'application/merge-patch+json',
      body: json(annotations(n)),
    }),
    'strategic merge patch': (_, n) => ({
      method: 'PATCH',
      type: 'application/strategic-merge-patch+json',
      body: json(annotations(n)),
    }),
    'apply of the whole Pod': (name, n) => ({
      method: 'PATCH',
      type: 'application/apply-patch+yaml',
      query: '?fieldManager=bench&force=true',
      body: podBody(name, 1, `registry.example/app:${n}`),
    }),
    'apply of one annotation': (name, n) => ({
      method: 'PATCH',
      type: 'application/apply-patch+yaml',
      query: '?fieldManager=other&force=true',
      body: json({
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name, annotations: { applied: String(n) } },
      }),
    }),
    create: (name, n) => ({ method: 'POST', body: podBody(`${name}-${n}`, 1) }),
  }

const { rival } = await startOurs()
try {
  const open = Array.from({ length: connections }, () => new RawConnection(rival.url, rival.token))
  await open[0]!.request('POST', '/api/v1/namespaces', json({ metadata: { name: namespace } }))
  for (const [i, connection] of open.entries()) {
    const { status, body } = await connection.request('POST', podsPath, podBody(`web-${i}`, 1))
    if (status !== 201) throw new Error(`${status} ${body}`)
  }
  let n = 0
  const done = new Map<string, { calls: number; ms: number }>()
  const round = async (kind: string): Promise<void> => {
    const total = done.get(kind) ?? { calls: 0, ms: 0 }
    const started = performance.now()
    await Promise.all(
      open.map(async (connection, i) => {
        while (performance.now() - started < roundMs) {
          const { method, body, type, query } = calls[kind]!(`web-${i}`, n++)
          const path = method === 'POST' ? podsPath : `${podsPath}/web-${i}${query ?? ''}`
          const answer = await connection.request(method, path, body, type)
          if (answer.status >= 300) throw new Error(`${kind}: ${answer.status} ${answer.body}`)
          total.calls++
        }
      }),
    )
    total.ms += performance.now() - started
    done.set(kind, total)
  }
  for (let i = 0; i <= rounds; i++) {
    if (i === 1) done.clear() // The first round warms up.
    for (const kind of Object.keys(calls)) await round(kind)
  }
  const perSecond = (kind: string) => (done.get(kind)!.calls * 1000) / done.get(kind)!.ms
  for (const kind of Object.keys(calls)) {
    const ratio = (perSecond(kind) / perSecond('update')).toFixed(2)
    console.log(
      `${kind.padEnd(26)} ${perSecond(kind).toFixed(0).padStart(7)}/s ${ratio.padStart(7)}`,
    )
  }
} finally {
  await rival.stop()
}
process.exit()
