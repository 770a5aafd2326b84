/** Events of a server with limits for them; what is refused is answered as kube-apiserver v1.36.3 answered it. */
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { temporaryDirectory } from '../../storage/level-fixture.js'
import { type Answer, call, startServer } from '../start-server.js'

t.test('more Events at once than a limit allows are refused, and others are not', async (t) => {
  const folder = temporaryDirectory(t)
  const file = path.join(folder, 'admission.yaml')
  // The path is relative to the file.
  writeFileSync(
    file,
    'apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins: [{name: EventRateLimit, path: events.yaml}]\n',
  )
  writeFileSync(
    path.join(folder, 'events.yaml'),
    'apiVersion: eventratelimit.admission.k8s.io/v1alpha1\nkind: Configuration\nlimits: [{type: Namespace, qps: 1, burst: 2}]\n',
  )
  const server = await startServer(t, {
    admissionControlConfigFile: file,
    enableAdmissionPlugins: ['EventRateLimit'],
  })
  const write = (namespace: string, name: string): Promise<Answer> =>
    call(server, {
      method: 'POST',
      path: `/api/v1/namespaces/${namespace}/events`,
      body: { metadata: { name }, involvedObject: { kind: 'Pod', namespace, name: 'p' } },
    })
  const names = Array.from({ length: 20 }, (_, i) => `e${i}`)
  const answers = await Promise.all(names.map((name) => write('default', name)))
  const refused = answers.filter(({ status }) => status === 429)
  t.ok(refused.length > 0 && refused.length <= 18, `${refused.length} are refused`)
  t.equal(answers.filter(({ status }) => status === 201).length, 20 - refused.length)
  for (const { body, headers } of refused) {
    t.same(body, {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: 'Too many requests: limit reached on type Namespace for key default',
      reason: 'TooManyRequests',
      code: 429,
    })
    t.equal(headers['retry-after'], undefined)
  }
  t.equal((await write('kube-system', 'other')).status, 201)
})
