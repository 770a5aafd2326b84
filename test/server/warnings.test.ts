/** What kube-apiserver v1.36.3 warned of: deprecated fields, labels and annotations, addresses that should be written otherwise. */
import t from 'tap'
import { readRecorded } from '../recorded.js'
import { call, startServer } from './start-server.js'

interface Recorded {
  method: string
  path: string
  body: object
  warning: string
}
const recorded = readRecorded<Record<string, Recorded[]>>('server/warnings')

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
