/** What kube-apiserver v1.36.3 lets a kubelet do, with --authorization-mode=Node,RBAC and NodeRestriction: answers that it gave. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import https from 'node:https'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t, { type Test } from 'tap'
import type { Server } from '#src/index.js'
import { eventually } from '../eventually.js'
import { readRecorded } from '../recorded.js'
import { type Answer, call, startServer } from './start-server.js'

interface Sent {
  method: string
  path: string
  body?: object
}
interface Answered extends Sent {
  as: 'admin' | 'node'
  code: number
  /** Of a refusal. */
  message?: string
  /** Of a review. */
  status?: { nonResourceRules?: object[] }
}
/** By verb: true, or why not. */
type Verdicts = Record<string, true | string>
type Question = [
  group: string,
  resource: string,
  subresource: string,
  namespace: string,
  name: string,
  fieldSelector: string,
  verdicts: Verdicts,
]

const recorded = readRecorded<{ setup: Sent[]; questions: Question[]; conversation: Answered[] }>(
  'server/node',
)

/** For a thousand requests one after the other. */
const agent = new https.Agent({ keepAlive: true })
t.teardown(() => agent.destroy())

const send = (server: Server, { method, path, body }: Sent, token?: string): Promise<Answer> => {
  const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'
  return call(server, { method, path, body, headers: { 'content-type': type }, token, agent })
}

const verdictOn = async (server: Server, node: string, attributes: object) => {
  const { body } = await send(server, {
    method: 'POST',
    path: '/apis/authorization.k8s.io/v1/subjectaccessreviews',
    body: {
      spec: {
        user: `system:node:${node}`,
        groups: ['system:nodes', 'system:authenticated'],
        resourceAttributes: attributes,
      },
    },
  })
  const { allowed, reason = '' } = body.status
  return allowed || reason
}

/** The last of each kind that the authorizer has to hear of. */
const lastOnes = [
  ['n1', { resource: 'secrets', namespace: 'na', name: 'debug' }],
  ['n1', { resource: 'secrets', namespace: 'other', name: 'azure-2' }],
  ['n2', { group: 'storage.k8s.io', resource: 'volumeattachments', name: 'attached-n2' }],
  ['n2', { group: 'resource.k8s.io', resource: 'resourceslices', name: 'slice-n2' }],
] as const

const startWithNodes = async (t: Test): Promise<Server> => {
  const folder = mkdtempSync(path.join(tmpdir(), 'node-recorded-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const tokenAuthFile = path.join(folder, 'tokens.csv')
  writeFileSync(tokenAuthFile, 'node-token,system:node:n1,node-uid,system:nodes\n')
  const server = await startServer(t, {
    storage: 'memory:',
    tokenAuthFile,
    authorizationModes: ['Node', 'RBAC'],
    enableAdmissionPlugins: ['NodeRestriction'],
    disableAdmissionPlugins: ['ServiceAccount'],
  })
  for (const sent of recorded.setup) {
    const { status, text } = await send(server, sent)
    if (status >= 300) throw new Error(`${sent.method} ${sent.path}: ${text}`)
  }
  for (const [node, attributes] of lastOnes)
    await eventually(
      `${attributes.name} is known`,
      async () => (await verdictOn(server, node, { verb: 'get', ...attributes })) === true,
    )
  return server
}

t.test('the Node authorizer allows what upstream does, and says why not', async (t) => {
  const server = await startWithNodes(t)
  for (const [
    group,
    resource,
    subresource,
    namespace,
    name,
    rawSelector,
    verdicts,
  ] of recorded.questions) {
    const of = { group, resource, subresource, namespace, name }
    const fieldSelector = rawSelector === '' ? undefined : { rawSelector }
    const found: Verdicts = {}
    for (const verb of Object.keys(verdicts))
      found[verb] = await verdictOn(server, 'n1', { ...of, verb, fieldSelector })
    t.same(found, verdicts, JSON.stringify([...Object.values(of), rawSelector]))
  }
})

/** `{{uid PATH}}` is the UID of what is there. */
const uidsIn = async (server: Server): Promise<Map<string, string>> => {
  const uids = new Map<string, string>()
  for (const [, path = ''] of JSON.stringify(recorded.conversation).matchAll(
    /\{\{uid ([^}]+)\}\}/g,
  ))
    if (!uids.has(path))
      uids.set(path, (await send(server, { method: 'GET', path })).body.metadata.uid)
  return uids
}

const withoutTimes = (text: string): string =>
  text
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, '{{time}}')
    .replace(/"uid": "[0-9a-f-]{36}"/g, '"uid": "{{uid}}"')

const rulesInOrder = (status: NonNullable<Answered['status']>): object => ({
  ...status,
  nonResourceRules: status.nonResourceRules?.map((rule) => JSON.stringify(rule)).sort(),
})

t.test('a node that writes is answered as by upstream', async (t) => {
  const server = await startWithNodes(t)
  const uids = await uidsIn(server)
  const filled = (text: string): string =>
    text.replace(/\{\{uid ([^}]+)\}\}/g, (_all, path) => uids.get(path)!)
  const placed = (text: string): string =>
    [...uids].reduce((left, [path, uid]) => left.replaceAll(uid, `{{uid ${path}}}`), text)
  for (const { as, code, message, status, ...sent } of recorded.conversation) {
    const body = sent.body && JSON.parse(filled(JSON.stringify(sent.body)))
    const answer = await send(server, { ...sent, body }, as === 'node' ? 'node-token' : undefined)
    const of = `${sent.method} ${sent.path} ${JSON.stringify(sent.body ?? '').slice(0, 200)}`
    const told = answer.body.kind === 'Status' && answer.status >= 300 ? answer.body.message : ''
    t.same(
      { code: answer.status, message: placed(withoutTimes(told)) },
      { code, message: message ?? '' },
      of,
    )
    if (status !== undefined) t.same(rulesInOrder(answer.body.status), rulesInOrder(status), of)
  }
})
