/** Admission plugins that are off unless they are asked for; the answers are those of kube-apiserver v1.36.3 with the same flag. */
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { ownerReferencesPermissionEnforcement } from '#admission/owner-references.js'
import type { AdmissionAttributes } from '#registry/admission.js'
import { readRecorded } from '../recorded.js'
import { call, startServer } from '../server/start-server.js'
import { temporaryDirectory } from '../storage/level-fixture.js'

interface Step {
  method: string
  path: string
  body?: object
  token?: string
  contentType?: string
  code: number
  /** Of a refusal. */
  message?: string
  /** Of an object. */
  spec?: object
}

const recorded = readRecorded<Record<string, Step[]>>('admission/optional-plugins')

const plugins = [
  'NamespaceAutoProvision',
  'NamespaceExists',
  'LimitPodHardAntiAffinityTopology',
  'AlwaysPullImages',
  'PodNodeSelector',
  'PodTolerationRestriction',
  'ExtendedResourceToleration',
  'OwnerReferencesPermissionEnforcement',
  'DenyServiceExternalIPs',
]

const withoutChance = (message = ''): string => message.replace(/g-[a-z0-9]{5}/g, 'g-*')

/** Addresses are of one server. */
const shown = (spec: object = {}): object => {
  const { clusterIP, clusterIPs, ...rest } = spec as Record<string, unknown>
  return rest
}

for (const [story, steps] of Object.entries(recorded))
  t.test(story, async (t) => {
    const tokenAuthFile = path.join(temporaryDirectory(t), 'tokens.csv')
    writeFileSync(
      tokenAuthFile,
      'admintoken,admin,admin-uid,system:masters\nlimitedtoken,limited,limited-uid\n',
    )
    const server = await startServer(t, {
      tokenAuthFile,
      enableAdmissionPlugins: plugins,
      disableAdmissionPlugins: ['ServiceAccount'],
    })
    for (const { method, path, body, token = 'admintoken', contentType, ...wanted } of steps) {
      const headers: Record<string, string> =
        contentType === undefined ? {} : { 'content-type': contentType }
      const answer = await call(server, { method, path, body, token, headers })
      const what = `${method} ${path} ${JSON.stringify(body ?? '')}`
      t.equal(answer.status, wanted.code, what)
      if (answer.body.kind === 'Status')
        t.equal(withoutChance(answer.body.message), withoutChance(wanted.message), what)
      else t.same(shown(answer.body.spec), shown(wanted.spec), what)
    }
  })

t.test('why an authorizer could not tell is told with the refusal of an owner', async (t) => {
  const { validate } = ownerReferencesPermissionEnforcement({
    authorize: async () => ({ allowed: false, reason: 'because', error: 'webhook is away' }),
    resourceOfKind: () => undefined,
  })
  const object = { metadata: { name: 'a', ownerReferences: [{ uid: 'u' }] } }
  const attributes = {
    ...{ operation: 'UPDATE', object, oldObject: { metadata: { name: 'a' } } },
    ...{ resource: { group: '', resource: 'pods' }, subresource: '', name: 'a' },
    ctx: { user: { name: 'u', groups: [] } },
  }
  await t.rejects(async () => validate!(attributes as unknown as AdmissionAttributes), {
    message:
      'pods "a" is forbidden: cannot set an ownerRef on a resource you can\'t delete: because, webhook is away',
  })
})

t.test('tolerations of a namespace that are none are refused as Go reads them', async (t) => {
  const server = await startServer(t, {
    enableAdmissionPlugins: ['PodTolerationRestriction'],
    disableAdmissionPlugins: ['ServiceAccount'],
  })
  const post = (path: string, body: object) => call(server, { method: 'POST', path, body })
  const texts = {
    '["a"]': 'string into Go value of type v1.Toleration',
    '[{"key":5}]': 'number into Go struct field Toleration.key of type string',
    true: 'bool into Go value of type []v1.Toleration',
  }
  for (const [i, [text, why]] of Object.entries(texts).entries()) {
    const annotations = { 'scheduler.alpha.kubernetes.io/defaultTolerations': text }
    const name = `tolerant-${i}`
    await post('/api/v1/namespaces', { metadata: { name, annotations } })
    const pod = { metadata: { name: 'p' }, spec: { containers: [{ name: 'c', image: 'i' }] } }
    t.match(await post(`/api/v1/namespaces/${name}/pods`, pod), {
      status: 500,
      body: { message: `json: cannot unmarshal ${why}` },
    })
  }
})
