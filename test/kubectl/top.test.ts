/** `kubectl top` against `kubelevel up`: figures of real processes. */

import { writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { eventually } from '../eventually.js'
import { kubectlMissing, startProcessTree } from './process-tree.js'

const container = (name: string, script: string) => ({
  name,
  image: 'sh',
  command: ['sh', '-c', `trap "exit 0" TERM; ${script}`],
})

const pod = (name: string, containers: readonly object[]) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, labels: { app: 'top' } },
  spec: { terminationGracePeriodSeconds: 1, containers },
})

const idle = 'while :; do sleep 1; done'
// Short commands one after the other: their time must not vanish with them.
const busy = 'while :; do head -c 2000000 /dev/zero | wc -c > /dev/null; done'

/** Cells of each line but the header. */
const rows = (text: string): string[][] =>
  text
    .trim()
    .split('\n')
    .slice(1)
    .map((line) => line.trim().split(/\s+/))

const milli = (cell: string | undefined): number => Number(/^(\d+)m$/.exec(cell ?? '')?.[1])

t.test('kubectl top shows what processes use', { skip: kubectlMissing }, async (t) => {
  const tree = await startProcessTree(t)
  const { k } = tree
  const file = path.join(tree.folder, 'top.json')
  const items = [
    pod('calm', [container('one', idle)]),
    pod('mixed', [container('calm', idle), container('keen', busy)]),
  ]
  writeFileSync(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items }))
  await k(`apply -f ${file}`)
  await k('wait --for=condition=Ready pod/calm pod/mixed --timeout=120s')

  // The first figures may be of a time in which the busy one had hardly begun, or stood still.
  const shown = await eventually('figures of both Pods, the busy one first', async () => {
    const found = rows(await k('top pods --sort-by=cpu').catch(() => ''))
    const isBusyFirst = found.map(([name]) => name).join() === 'mixed,calm'
    return isBusyFirst && milli(found[0]![1]) > milli(found[1]![1]) && found
  })
  for (const [, , memory] of shown) t.match(memory, /^[1-9]\d*Mi$/)

  const containers = rows(await k('top pods mixed --containers'))
  t.strictSame(containers.map(([, name]) => name).sort(), ['calm', 'keen'])
  // Nobody measures the machine and its Pods in the same moment.
  await eventually('the machine uses what its Pods use', async () => {
    const [node] = rows(await k('top nodes'))
    t.match(node?.[2], /^\d+%$/, 'of what the node has')
    const [mixed] = rows(await k('top pod mixed'))
    return 2 * milli(node?.[1]) >= milli(mixed?.[1])
  })

  t.match(await k('get apiservice v1beta1.metrics.k8s.io'), /kube-system\/metrics-server\s+True/)
  t.equal(rows(await k('get pods.metrics.k8s.io -l app=top')).length, 2)
  t.equal(rows(await k('top pods -l app=other').catch(() => 'x')).length, 0)
  await t.rejects(k('top pod nobody'), /pods "default\/nobody" not found/)
  t.match(await k('explain podmetrics.containers --api-version=metrics.k8s.io/v1beta1'), /usage/)
})
