/** Who the server says that it is to admission webhooks, by their hosts. */
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import { temporaryDirectory } from '../../storage/level-fixture.js'
import { call, startServer } from '../start-server.js'
import { startWebhook } from '../webhook-server.js'

/** A file that names `users`, by host, to the plugin. */
const configured = (t: Test, plugin: string, kubeconfig: object): string => {
  const folder = temporaryDirectory(t)
  const kubeConfigFile = path.join(folder, 'kubeconfig')
  writeFileSync(kubeConfigFile, JSON.stringify(kubeconfig))
  const configuration = {
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'WebhookAdmissionConfiguration',
    kubeConfigFile,
  }
  const file = path.join(folder, 'admission.json')
  const plugins = [{ name: plugin, configuration }]
  const kind = { apiVersion: 'apiserver.config.k8s.io/v1', kind: 'AdmissionConfiguration' }
  writeFileSync(file, JSON.stringify({ ...kind, plugins }))
  return file
}

const ruleFor = (resource: string) => ({
  apiGroups: [''],
  apiVersions: ['v1'],
  operations: ['CREATE'],
  resources: [resource],
})

interface Asked {
  /** Of the kubeconfig, with PORT for that of the webhook. */
  users: Record<string, object>
  current?: string
  authorization: string | undefined
}

const basic = `Basic ${Buffer.from('me:secret').toString('base64')}`
const cases: Record<string, Asked> = {
  'the host with its port': {
    users: { '127.0.0.1:PORT': { token: 'exact' }, '*': { token: 'star' } },
    authorization: 'Bearer exact',
  },
  'part of the host': {
    users: { '*.0.0.1:PORT': { token: 'part' }, '*.1:PORT': { token: 'less' } },
    authorization: 'Bearer part',
  },
  'any host': {
    users: { '*': { username: 'me', password: 'secret' }, '127.0.0.1': { token: 'other port' } },
    authorization: basic,
  },
  'the current context': {
    users: { me: { token: 'current' } },
    current: 'me',
    authorization: 'Bearer current',
  },
  nobody: { users: { me: { token: 'unused' } }, authorization: undefined },
}

for (const [name, { users, current, authorization }] of Object.entries(cases))
  t.test(`a webhook is told who asks it: ${name}`, async (t) => {
    const hook = await startWebhook(t, () => ({ allowed: true }))
    const { port } = new URL(hook.clientConfig.url)
    const kubeconfig = {
      users: Object.entries(users).map(([user, of]) => ({
        name: user.replace('PORT', port),
        user: of,
      })),
      contexts: current ? [{ name: 'c', context: { cluster: '', user: current } }] : [],
      'current-context': current && 'c',
    }
    const server = await startServer(t, {
      admissionControlConfigFile: configured(t, 'ValidatingAdmissionWebhook', kubeconfig),
    })
    for (const kind of ['Validating', 'Mutating'])
      await call(server, {
        method: 'POST',
        path: `/apis/admissionregistration.k8s.io/v1/${kind.toLowerCase()}webhookconfigurations`,
        body: {
          metadata: { name: 'hook' },
          webhooks: [
            {
              name: `${kind.toLowerCase()}.example.com`,
              clientConfig: hook.clientConfig,
              rules: [ruleFor('configmaps')],
              sideEffects: 'None',
              admissionReviewVersions: ['v1'],
              timeoutSeconds: 30,
            },
          ],
        },
      })
    const { status } = await call(server, {
      method: 'POST',
      path: '/api/v1/namespaces/default/configmaps',
      body: { metadata: { name: 'c' } },
    })
    t.equal(status, 201)
    // The file says nothing to the mutating ones, which are asked first.
    t.same(
      hook.requests.map(({ headers }) => headers.authorization),
      [undefined, authorization],
    )
  })
