/** `kubelevel up --authorization-mode=Node,RBAC`: the kubelet is its node, and is held to that; kubectl tells what it may do. */

import { writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import path from 'node:path'
import t from 'tap'
import { eventually } from '../eventually.js'
import { kubectlMissing, startProcessTree } from './process-tree.js'

const node = hostname().toLowerCase()
const asNode = ['--as', `system:node:${node}`, '--as-group', 'system:nodes']

const objects = [
  { kind: 'Secret', metadata: { name: 'used' }, stringData: { word: 'hidden' } },
  { kind: 'Secret', metadata: { name: 'unused' }, stringData: { word: 'hidden' } },
  { kind: 'ConfigMap', metadata: { name: 'used' }, data: { word: 'seen' } },
  {
    kind: 'Pod',
    metadata: { name: 'p' },
    spec: {
      terminationGracePeriodSeconds: 1,
      containers: [
        {
          name: 'main',
          image: 'none.example/main',
          command: [
            'sh',
            '-c',
            'echo $A $B; test -s $CONTAINER_ROOT/var/run/secrets/kubernetes.io/serviceaccount/token && echo token; sleep 1000',
          ],
          env: [
            { name: 'A', valueFrom: { secretKeyRef: { name: 'used', key: 'word' } } },
            { name: 'B', valueFrom: { configMapKeyRef: { name: 'used', key: 'word' } } },
          ],
        },
      ],
    },
  },
].map((object) => ({ apiVersion: 'v1', ...object }))

t.test(
  'a Pod runs where the kubelet may do no more than a node',
  { skip: kubectlMissing },
  async (t) => {
    const cluster = await startProcessTree(t, 'up', [
      '--authorization-mode=Node,RBAC',
      '--enable-admission-plugins=NodeRestriction',
      '--v=2',
    ])
    const { kubectl, k } = cluster
    const file = path.join(cluster.folder, 'objects.json')
    writeFileSync(file, JSON.stringify({ kind: 'List', apiVersion: 'v1', items: objects }))
    await kubectl('apply', '-f', file)
    await k('wait --for=condition=Ready pod/p --timeout=120s')
    await eventually('its words', async () => (await k('logs p')) === 'hidden seen\ntoken\n')

    const answers = async (...question: string[]): Promise<string> => {
      try {
        return await kubectl('auth', 'can-i', ...question, ...asNode)
      } catch (error) {
        return (error as { stdout: string }).stdout
      }
    }
    t.equal(await answers('get', 'secret/used'), 'yes\n')
    t.equal(
      await answers('get', 'secret/unused'),
      `no - no relationship found between node '${node}' and this object\n`,
    )
    await t.rejects(
      kubectl('label', 'node', node, 'node-role.kubernetes.io/control-plane=', ...asNode),
      {
        message: /is not allowed to modify labels: node-role\.kubernetes\.io\/control-plane/,
      },
    )
    await k('delete pod p')
    const requests = cluster
      .output()
      .split('\n')
      // The last one may have come in part.
      .slice(0, -1)
      .filter((line) => line.includes('"msg":"request"'))
      .map(
        (line) => JSON.parse(line) as { method: string; url: string; user: string; code: number },
      )
    const ofNode = requests.filter(({ user }) => user === `system:node:${node}`)
    t.ok(ofNode.some(({ method, url }) => method === 'PATCH' && url.includes('/pods/p/status')))
    const refused = ofNode.filter(({ code }) => code === 403)
    t.same(
      refused.filter(({ url }) => !url.includes('kubectl-label')),
      [],
      'a kubelet asks for nothing that a node may not',
    )
  },
)
