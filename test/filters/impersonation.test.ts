/** What somebody who would be somebody else is asked for, and whom the request goes on as. */
import type { FastifyRequest } from 'fastify'
import t from 'tap'
import type { UserInfo } from '#api/user-info.js'
import { type Attributes, allowed, noOpinion } from '#authz/authorizer.js'
import { impersonation } from '#filters/impersonation.js'

const ann: UserInfo = { name: 'ann', groups: ['system:authenticated'] }
const info = {
  isResourceRequest: true,
  path: '/api/v1/namespaces/x/pods',
  verb: 'list',
  apiGroup: '',
  apiVersion: 'v1',
  namespace: 'x',
  resource: 'pods',
  subresource: '',
  name: '',
  fieldSelector: '',
  labelSelector: '',
  parts: ['pods'],
}

const textOf = ({ verb, apiGroup, resource, subresource, namespace, name }: Attributes): string =>
  `${verb} ${[apiGroup, resource, subresource].join('/')} ${namespace}/${name}`

/** `may`: of what is asked, what is allowed. */
const server = (may: (question: string) => boolean) => {
  let asked: Attributes[] = []
  const filter = impersonation({
    authorize: (attributes) => {
      asked.push(attributes)
      return may(textOf(attributes)) ? allowed : noOpinion
    },
  })
  const as = async (headers: readonly (readonly [string, string])[], user = ann) => {
    asked = []
    const constraints: string[] = []
    const audit = { impersonates: (_: UserInfo, by: string) => void constraints.push(by) }
    const kube = { user, info, audit }
    const raw = { headers: Object.fromEntries(headers), rawHeaders: headers.flat() }
    const request = { raw, kube } as unknown as FastifyRequest
    let refused: string | undefined
    try {
      await filter(request, {} as never)
    } catch (error) {
      refused = (error as Error).message
    }
    return { asked: asked.map(textOf), by: asked, refused, user: kube.user, constraints }
  }
  return as
}

const user = (name: string) => ['impersonate-user', name] as const
const groups = (...names: string[]) => names.map((name) => ['impersonate-group', name] as const)
const nobody = server(() => false)
const onTarget = (mode: string) => `impersonate-on:${mode}:list /pods/ x/`
const authentication = 'authentication.k8s.io'

t.test('who wants to be nobody else is asked nothing', async (t) => {
  for (const headers of [[], [['impersonat', 'x']], [user('')]] as const)
    t.match(await nobody(headers), { asked: [], refused: undefined, user: ann, constraints: [] })
  for (const header of [...groups('g', ''), ['impersonate-uid', 'u'], ['impersonate-extra-a', '']])
    t.match(await nobody([header as [string, string]]), {
      asked: [],
      refused: /^requested &user.DefaultInfo{Name:"", .*} without impersonating a user name$/,
    })
})

t.test('each part of another user takes a right, one after the other', async (t) => {
  const headers = [
    user('bob'),
    ['impersonate-uid', 'u'] as const,
    ...groups('g', 'h'),
    ['impersonate-extra-acme.io%2Fk', 'v'] as const,
    ['Impersonate-Extra-acme.io%2Fk', 'w'] as const,
  ]
  const questions = (verb: string, group: string) => [
    `${verb} ${group}/users/ /bob`,
    `${verb} ${authentication}/uids/ /u`,
    `${verb} ${group}/groups/ /g`,
    `${verb} ${group}/groups/ /h`,
    `${verb} ${authentication}/userextras/acme.io/k /v`,
    `${verb} ${authentication}/userextras/acme.io/k /w`,
  ]
  const constrained = [onTarget('user-info'), ...questions('impersonate:user-info', authentication)]
  const legacy = questions('impersonate', '')
  const bob = { name: 'bob', uid: 'u', extra: { 'acme.io/k': ['v', 'w'] } }
  const becomes = { ...bob, groups: ['g', 'h', 'system:authenticated'] }
  const all = await server(() => true)(headers)
  t.match(all, { asked: constrained, refused: undefined, user: becomes })
  t.same(all.constraints, ['impersonate:user-info'])
  const old = await server((one) => one.startsWith('impersonate '))(headers)
  t.match(old, { asked: [constrained[0], ...legacy], user: becomes })
  t.same(old.constraints, [''])
  for (const [i, question] of constrained.entries()) {
    const lacking = await server((one) => one !== question && !one.startsWith('impersonate '))(
      headers,
    )
    t.same(lacking.asked, [...constrained.slice(0, i + 1), legacy[0]])
    t.ok(lacking.refused?.includes(` cannot ${question.split(' ')[0]} resource `), question)
    t.equal(lacking.user, ann)
  }
  for (const [i, question] of legacy.entries()) {
    const lacking = await server((one) => one !== question && one.startsWith('impersonate '))(
      headers,
    )
    t.same(lacking.asked, [constrained[0], ...legacy.slice(0, i + 1)])
    t.ok(lacking.refused?.includes(' cannot impersonate-on:user-info:list '), 'the first refusal')
  }
})

t.test('nodes and ServiceAccounts have rights and groups of their own', async (t) => {
  const pod = 'authentication.kubernetes.io/pod-name'
  const node = 'authentication.kubernetes.io/node-name'
  const bot: UserInfo = {
    name: 'system:serviceaccount:x:bot',
    groups: [],
    extra: { [pod]: ['p'], [node]: ['n1'] },
  }
  const n1 = 'system:node:n1'
  const nodes = `${authentication}/nodes/`
  const arbitrary = [onTarget('arbitrary-node'), `impersonate:arbitrary-node ${nodes} /n1`]
  const associated = [onTarget('associated-node'), `impersonate:associated-node ${nodes} /*`]
  const is = async (
    headers: Parameters<typeof nobody>[0],
    asker: UserInfo,
    asked: string[],
    groups: string[],
  ) => {
    const made = await server((one) => asked.includes(one))(headers, asker)
    t.match(made, { asked, refused: undefined })
    t.same(made.user, { name: headers[0]![1], groups })
    return made
  }
  const ofNode = ['system:nodes', 'system:authenticated']
  await is([user(n1)], ann, arbitrary, ofNode)
  const own = await is([user(n1)], bot, associated, ofNode)
  const keys = { 'authentication.kubernetes.io/associated-node-keys': [node, pod] }
  for (const { user: asker } of own.by) t.same(asker, { ...bot, extra: keys })
  const other = await server(() => true)([user('system:node:n2')], bot)
  t.same(other.constraints, ['impersonate:arbitrary-node'], 'not the node that it is on')
  for (const { user: asker } of other.by) t.equal(asker, bot)
  const named = { ...bot, name: 'ann' }
  t.same((await server(() => true)([user(n1)], named)).constraints, ['impersonate:arbitrary-node'])
  const accounts = `${authentication}/serviceaccounts/ y/z`
  const account = [onTarget('serviceaccount'), `impersonate:serviceaccount ${accounts}`]
  const ofAccount = ['system:serviceaccounts', 'system:serviceaccounts:y', 'system:authenticated']
  await is([user('system:serviceaccount:y:z')], ann, account, ofAccount)

  // With more than a name only the old right counts.
  for (const [name, resource] of [
    [n1, `users/ /${n1}`],
    ['system:serviceaccount:y:z', 'serviceaccounts/ y/z'],
  ]) {
    const made = await server(() => true)([user(name!), ...groups('g')], bot)
    t.same(made.asked, [`impersonate /${resource}`, 'impersonate /groups/ /g'])
    t.same(made.user.groups, ['g', 'system:authenticated'])
  }
  for (const name of [
    'system:node:',
    'system:node:N',
    'system:serviceaccount:y',
    'system:serviceaccount:y:Z',
  ])
    t.equal((await server(() => true)([user(name)], bot)).asked[0], onTarget('user-info'), name)
})

t.test('the anonymous and the unauthenticated are not authenticated', async (t) => {
  const groupsOf = async (...headers: (readonly [string, string])[]) =>
    (await server(() => true)(headers)).user.groups
  t.same(await groupsOf(user('system:anonymous')), ['system:unauthenticated'])
  t.same(await groupsOf(user('bob'), ...groups('system:unauthenticated')), [
    'system:unauthenticated',
  ])
  t.same(await groupsOf(user('bob'), ...groups('system:authenticated')), ['system:authenticated'])
})

t.test('many groups or extras take one right to all, or one to each', async (t) => {
  const verb = 'impersonate:user-info'
  const all = `${verb} ${authentication}/groups/ /*`
  const bob = [user('bob'), ...groups('a', 'b', 'c')]
  t.notOk((await server(() => true)(bob)).asked.includes(all), 'three are few')
  const many = [...bob, ...groups('d')]
  t.same((await server(() => true)(many)).asked.slice(2), [all])
  const each = ['a', 'b', 'c', 'd'].map((name) => `${verb} ${authentication}/groups/ /${name}`)
  t.same((await server((one) => one !== all)(many)).asked.slice(2), [all, ...each])
  const extras = ['1', '2', '3', '4'].map((value) => ['impersonate-extra-a.io%2Fk', value] as const)
  const anyExtra = `${verb} ${authentication}/userextras/* /*`
  t.same((await server(() => true)([user('bob'), ...extras])).asked.slice(2), [anyExtra])
  t.notOk((await server(() => true)([user('bob'), ...extras.slice(1)])).asked.includes(anyExtra))
  const old = await server((one) => one.startsWith('impersonate '))([...many, ...extras])
  t.notMatch(old.asked.join(), /\*/, 'the old right knows no such')
})

t.test('the way that was allowed last is tried first, for each asker', async (t) => {
  const as = server((one) => one.startsWith('impersonate '))
  const first = onTarget('user-info')
  const asked = async (who = ann) => (await as([user('bob')], who)).asked
  t.same(await asked(), [first, 'impersonate /users/ /bob'])
  t.same(await asked(), ['impersonate /users/ /bob'])
  t.same(await asked({ ...ann, name: 'carl' }), [first, 'impersonate /users/ /bob'])
  const refused = server((one) => one === 'impersonate /users/ /bob')
  await refused([user('bob')])
  const eve = await refused([user('eve')])
  t.same(eve.asked, ['impersonate /users/ /eve', first])
  t.match(eve.refused, / cannot impersonate resource "users" /)
})
