/** Users with random rights, and what they are let do: requests, roles that they make, names that they take, reviews. */
import type { Dice } from '../../dice.js'
import { given } from '../../dice.js'
import { namespace, type Part, type Sweep } from '../sweep.js'
import { type Answer, type Request, typed } from '../target.js'
import {
  account,
  bindingsOf,
  clusterRole,
  collectionOf,
  names,
  role,
  roleRefOf,
  rulesOf,
  subjectsOf,
  urls,
  userSubject,
  within,
} from './random-rights.js'

type Headers = Readonly<Record<string, string>>

/** As an admin takes their names. */
const users: readonly Headers[] = [
  { 'impersonate-user': 'user-0' },
  { 'impersonate-user': 'user-1', 'impersonate-group': 'sweepers' },
  { 'impersonate-user': `system:serviceaccount:${namespace}:${account}` },
  { 'impersonate-user': 'system:anonymous' },
]

/** Who may do what alone a role allows has that role, and what was written before that binding counts, too. */
const signer = 'signer'
const signs = { apiGroups: ['sweep.example.com'], resources: ['signs'] }
const countOfRoles = 4
const reviews = '/apis/authorization.k8s.io/v1'

const patienceMs = 10_000
const pauseMs = 20

const awaitSign = async (sweep: Sweep, verb: string): Promise<void> => {
  const end = Date.now() + patienceMs
  const resourceAttributes = { namespace, verb, group: signs.apiGroups[0], resource: 'signs' }
  const request: Request = {
    method: 'POST',
    path: `${reviews}/subjectaccessreviews`,
    body: { spec: { user: signer, resourceAttributes } },
  }
  while (Date.now() < end) {
    const { server, against } = await sweep.prepare(request)
    if ([server, against].every(({ text }) => text.includes('"allowed":true'))) return
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
  throw new Error(`what ${verb} shows is not in force`)
}

/** Writes roles and their bindings, and waits until they count; what takes them away. */
const grant = async (sweep: Sweep, dice: Dice, round: string): Promise<() => Promise<void>> => {
  const written: string[] = []
  const write = async (collection: string, name: string, body: object) => {
    await sweep.prepare({ method: 'POST', path: collection, body: { metadata: { name }, ...body } })
    written.push(`${collection}/${name}`)
  }
  for (let i = 0; i < countOfRoles; i++) {
    const kind = dice.pick([role, clusterRole])
    const name = `sweep-${i}`
    const sign = `${round}-${i}`
    const rules = [...rulesOf(dice, kind), { verbs: [sign], ...signs }]
    await write(kind.collection, name, { rules })
    const bindings = bindingsOf(kind, dice)
    const roleRef = roleRefOf(kind, name)
    await write(bindings, name, { roleRef, subjects: subjectsOf(dice) })
    await write(bindings, `${name}-sign`, { roleRef, subjects: [userSubject(signer)] })
    await awaitSign(sweep, sign)
  }
  return async () => {
    for (const path of written) await sweep.prepare({ method: 'DELETE', path })
  }
}

const merge = typed('merge-patch+json')
const apply = typed('apply-patch+yaml')
const subresources = [
  ...['/api/v1:pods/a/status', '/api/v1:pods/b/log', '/api/v1:pods/a/eviction'],
  ...['/apis/apps/v1:deployments/a/scale', '/api/v1:pods/a/exec', '/apis/batch/v1:jobs/b/status'],
  ...['/api/v1:serviceaccounts/a/token', `/api/v1:serviceaccounts/${account}/token`],
]
const paths = ['/healthz', '/healthz/etcd', '/api', '/apis/batch', '/x', '/x/y', '/readyz/ping']
const knownRoles = ['view', 'edit', 'admin', 'cluster-admin', 'none', 'system:discovery']

const attributesOf = (dice: Dice): object => {
  const { pick, maybe, oneIn } = dice
  if (oneIn(5))
    return { nonResourceAttributes: { verb: pick(['get', 'post', 'GET']), path: pick(urls) } }
  return {
    resourceAttributes: given({
      namespace: maybe(() => pick([namespace, 'default'])),
      verb: pick(['get', 'list', 'create', 'bind', '*', 'impersonate']),
      group: pick(['', 'apps', 'batch', '*', 'rbac.authorization.k8s.io']),
      resource: pick(['pods', 'roles', 'clusterroles', '*', 'deployments', 'secrets', 'users']),
      subresource: maybe(() => pick(['status', 'scale', 'log', '*']), 3),
      name: maybe(() => pick(names), 3),
      version: maybe(() => 'v1', 4),
      fieldSelector: maybe(
        () => ({ requirements: [{ key: 'metadata.name', operator: 'In', values: ['a'] }] }),
        6,
      ),
    }),
  }
}

/** What is let through may be refused for another reason; nothing is changed. */
const requests: readonly ((dice: Dice) => Request)[] = [
  (dice) => ({
    method: 'GET',
    path: `${collectionOf(dice)}?${dice.pick(['limit=x', 'watch=1&resourceVersion=x'])}`,
  }),
  (dice) => ({ method: 'GET', path: `${collectionOf(dice)}/${dice.pick(names)}` }),
  (dice) => ({
    method: 'GET',
    path: `${collectionOf(dice)}?limit=x&fieldSelector=metadata.name%3D${dice.pick(names)}`,
  }),
  (dice) => ({
    method: 'POST',
    path: `${collectionOf(dice)}?dryRun=All`,
    body: { metadata: dice.pick([{ name: 'a' }, { generateName: 'generated-' }]) },
  }),
  (dice) => ({
    method: 'PUT',
    path: `${collectionOf(dice)}/${dice.pick(names)}?dryRun=All`,
    body: {},
  }),
  (dice) => ({
    method: 'PATCH',
    path: `${collectionOf(dice)}/${dice.pick(names)}?dryRun=All&fieldManager=m`,
    body: {},
    headers: dice.pick([merge, apply]),
  }),
  (dice) => ({
    method: 'DELETE',
    path: `${collectionOf(dice)}${dice.pick(['', ...names.map((name) => `/${name}`)])}?dryRun=All`,
  }),
  ({ pick }) => {
    const [base, path] = pick(subresources).split(':')
    const method = pick(['GET', 'POST', 'PUT', 'PATCH'])
    return { method, path: `${within(base!)}/${path}?dryRun=All`, body: {} }
  },
  ({ pick }) => ({ method: pick(['GET', 'GET', 'POST', 'PUT', 'DELETE']), path: pick(paths) }),
  (dice) => {
    const kind = dice.pick([role, clusterRole])
    const aggregationRule = { clusterRoleSelectors: [{ matchLabels: { a: 'b' } }] }
    const isAggregated = kind === clusterRole && dice.oneIn(6)
    return {
      method: 'POST',
      path: `${kind.collection}?dryRun=All`,
      body: {
        metadata: { name: dice.pick(names) },
        rules: rulesOf(dice, kind),
        ...(isAggregated && { aggregationRule }),
      },
    }
  },
  (dice) => {
    const kind = dice.pick([role, clusterRole])
    const body = {
      metadata: { name: `sweep-${dice.below(countOfRoles)}` },
      rules: rulesOf(dice, kind),
    }
    const path = `${kind.collection}/${body.metadata.name}?dryRun=All&fieldManager=m&force=true`
    const { kind: name } = kind
    return dice.pick<Request>([
      { method: 'PUT', path, body },
      { method: 'PATCH', path, body: { rules: body.rules }, headers: merge },
      {
        method: 'PATCH',
        path,
        body: { apiVersion: 'rbac.authorization.k8s.io/v1', kind: name, ...body },
        headers: apply,
      },
    ])
  },
  (dice) => {
    const kind = dice.pick([role, clusterRole])
    const name = dice.pick([...knownRoles, `sweep-${dice.below(countOfRoles)}`])
    const body = {
      metadata: { name: dice.pick(names) },
      ...{ roleRef: roleRefOf(kind, name), subjects: subjectsOf(dice) },
    }
    return { method: 'POST', path: `${bindingsOf(kind, dice)}?dryRun=All`, body }
  },
  (dice) => ({
    method: 'POST',
    path: `${reviews}/selfsubjectaccessreviews`,
    body: { spec: attributesOf(dice) },
  }),
  ({ pick }) => ({
    method: 'POST',
    path: `${reviews}/selfsubjectrulesreviews`,
    body: { spec: { namespace: pick([namespace, 'default', '']) } },
  }),
  (dice) => ({
    method: 'POST',
    path: dice.pick([
      `${reviews}/subjectaccessreviews`,
      `${within(reviews)}/localsubjectaccessreviews`,
    ]),
    body: {
      metadata: given({ namespace: dice.maybe(() => namespace) }),
      spec: {
        ...attributesOf(dice),
        ...given({
          user: dice.maybe(() =>
            dice.pick(['user-0', 'user-1', `system:serviceaccount:${namespace}:${account}`]),
          ),
          groups: dice.maybe(() => dice.pick([['sweepers'], ['system:masters'], []]), 3),
        }),
      },
    },
  }),
]

const taken: readonly Headers[] = [
  { 'impersonate-user': 'user-0' },
  { 'impersonate-user': 'a' },
  { 'impersonate-user': 'a', 'impersonate-group': 'sweepers' },
  { 'impersonate-user': 'a', 'impersonate-uid': 'b' },
  { 'impersonate-user': 'a', 'impersonate-extra-scopes': 'b' },
  { 'impersonate-user': 'a', 'impersonate-extra-sc%6fpes': 'zz' },
  { 'impersonate-group': 'sweepers' },
  { 'impersonate-uid': 'x' },
  { 'impersonate-user': `system:serviceaccount:${namespace}:${account}` },
  { 'impersonate-user': `system:serviceaccount:${namespace}:a` },
  { 'impersonate-user': `system:serviceaccount:x` },
  { 'impersonate-user': 'system:node:a' },
  {},
]

const serviceAccounts = `${within('/api/v1')}/serviceaccounts`
const tokenOf = ({ text }: Answer): string => JSON.parse(text).status.token

/** Asks as an account of this name; upstream keeps for 10 s what a name was let do, and how for longer. */
const withAccount = async (
  sweep: Sweep,
  name: string,
  work: (asAccount: (request: Request) => Promise<void>) => Promise<void>,
): Promise<void> => {
  await sweep.prepare({ method: 'POST', path: serviceAccounts, body: { metadata: { name } } })
  const path = `${serviceAccounts}/${name}`
  const tokens = await sweep.prepare({ method: 'POST', path: `${path}/token`, body: {} })
  await work(async (request) => {
    const answers = await sweep.prepareEach((side) => ({
      ...request,
      headers: { ...request.headers, authorization: `Bearer ${tokenOf(tokens[side])}` },
    }))
    sweep.note({ where: 'as an account', request }, answers)
  })
  await sweep.prepare({ method: 'DELETE', path })
}

const requestsOfUser = 40
const roundsAtFullShare = 250

export const access: Part = {
  name: 'access',
  play: async (sweep, dice) => {
    const requestOf = (headers: Headers): Request => {
      const request = dice.pick(requests)(dice)
      return { ...request, headers: { ...request.headers, ...headers } }
    }
    const rounds = Math.ceil(roundsAtFullShare * sweep.share)
    for (let round = 0; round < rounds; round++) {
      const name = `${sweep.seed}-${round}`
      const revoke = await grant(sweep, dice, name)
      for (const user of users)
        await sweep.compareAll(
          Array.from({ length: requestsOfUser }, () => ({
            where: user['impersonate-user']!,
            request: requestOf(user),
          })),
        )
      await withAccount(sweep, `a-${name}`, async (asAccount) => {
        for (let i = 0; i < requestsOfUser; i++) await asAccount(requestOf(dice.pick(taken)))
      })
      await revoke()
    }
  },
}
