/** What kube-apiserver v1.36.3 warned of: deprecated fields, labels and annotations, addresses that should be written otherwise. */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { call, startServer } from './start-server.js'

interface Recorded {
  method: string
  path: string
  body: object
  warning: string
}
const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../..')
const recorded: Record<string, Recorded[]> = JSON.parse(
  readFileSync(path.join(root, 'test/server/warnings-recorded.json'), 'utf8'),
)

const headersOf = (method: string): Record<string, string> =>
  method === 'PATCH' ? { 'content-type': 'application/merge-patch+json' } : {}

for (const [name, steps] of Object.entries(recorded))
  t.test(`warnings are upstream's, in its order: ${name}`, async (t) => {
    const server = await startServer(t, {
      storage: 'memory:',
      disableAdmissionPlugins: ['ServiceAccount'],
    })
    for (const { warning, ...step } of steps) {
      const answer = await call(server, { ...step, headers: headersOf(step.method) })
      const of = `${step.method} ${step.path} ${JSON.stringify(step.body)}`
      t.ok(answer.status < 300, `${answer.status} ${of}`)
      t.equal(answer.headers.warning ?? '', warning, of)
    }
  })
