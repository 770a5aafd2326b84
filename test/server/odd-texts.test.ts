/** What a server keeps of texts that clients choose: however many they are, a bounded number, and none that is long. */
import https from 'node:https'
import { Session } from 'node:inspector/promises'
import t, { type Test } from 'tap'
import { limits } from '#limits'
import { type Call, call, startWithLimits } from './start-server.js'

const mark = 'chosen-by-a-client'
/** Few, so that few requests fill what is bounded. */
const keptMax = 20
const few = Object.fromEntries(
  Object.keys(limits)
    .filter(
      (name) => name.endsWith('Kept') || name === 'flowHandsMax' || name === 'sharedSetStepsMax',
    )
    .map((name) => [name, keptMax]),
)

const lookInto = `function (text) {
  const holds = (value) => typeof value === 'string' && value.includes(text)
  return this.map((one) => {
    // The prototype of a class that extends Map is found as well.
    if (Object.hasOwn(one, 'constructor')) return []
    return [...one.keys(), ...one.values()].filter(holds)
  })
    .filter(({ length }) => length > 0)
    .map((texts) => {
      const longest = texts.reduce((a, b) => (a.length > b.length ? a : b))
      return { count: texts.length, longest: longest.slice(0, 120), length: longest.length }
    })
}`

/** Those Maps and Sets of this process that hold such texts by themselves: how many of them, and the longest. */
const heldWith = async (
  text: string,
): Promise<{ count: number; longest: string; length: number }[]> => {
  const session = new Session()
  session.connect()
  try {
    const found: { count: number; longest: string; length: number }[][] = []
    for (const kind of ['Map', 'Set']) {
      const { result: prototype } = await session.post('Runtime.evaluate', {
        expression: `${kind}.prototype`,
      })
      const { objects } = await session.post('Runtime.queryObjects', {
        prototypeObjectId: prototype.objectId!,
      })
      const { result, exceptionDetails } = await session.post('Runtime.callFunctionOn', {
        objectId: objects.objectId!,
        arguments: [{ value: text }],
        returnByValue: true,
        functionDeclaration: lookInto,
      })
      if (exceptionDetails) throw new Error(JSON.stringify(exceptionDetails))
      found.push(result.value)
    }
    return found.flat()
  } finally {
    session.disconnect()
  }
}

const maps = '/api/v1/namespaces/default/configmaps'
const review = (group: string, kind: string, spec: object) => ({
  apiVersion: `${group}/v1`,
  kind,
  spec,
})
const reviews = (group: string, resource: string) => `/apis/${group}/v1/${resource}`

/** For what takes long. */
const apart = new https.Agent({ keepAlive: false })

/** By what the client chooses. */
const asking: Readonly<Record<string, (odd: string) => Call>> = {
  user: (odd) => ({ path: maps, headers: { 'impersonate-user': odd } }),
  group: (odd) => ({
    path: maps,
    headers: { 'impersonate-user': 'ann', 'impersonate-group': odd },
  }),
  extra: (odd) => ({
    path: maps,
    headers: { 'impersonate-user': 'ann', 'impersonate-extra-scopes': odd },
  }),
  'key of an extra': (odd) => ({
    path: maps,
    headers: { 'impersonate-user': 'ann', [`impersonate-extra-${odd}`]: 'a' },
  }),
  token: (odd) => ({ path: maps, token: odd }),
  'token of the form of JWTs': (odd) => ({ path: maps, token: `${odd}.e30.e30` }),
  'user agent': (odd) => ({ path: maps, headers: { 'user-agent': odd } }),
  'media type': (odd) => ({ path: maps, headers: { accept: `application/${odd}, */*` } }),
  'content type': (odd) => ({
    path: maps,
    method: 'POST',
    body: {},
    headers: { 'content-type': `application/${odd}` },
  }),
  'audit id': (odd) => ({ path: maps, headers: { 'audit-id': odd.slice(0, 10_000) } }),
  origin: (odd) => ({ path: maps, headers: { origin: `https://${odd}` } }),
  'field manager': (odd) => ({
    path: `${maps}?fieldManager=${odd}`,
    method: 'POST',
    body: { metadata: { name: 'a' } },
  }),
  'name of a created object': (odd) => ({
    path: `${maps}?dryRun=All`,
    method: 'POST',
    body: { metadata: { name: odd.slice(0, 200) }, data: { [odd.slice(0, 200)]: odd } },
  }),
  name: (odd) => ({ path: `${maps}/${odd}` }),
  'name of a deleted object': (odd) => ({ path: `${maps}/${odd}`, method: 'DELETE' }),
  namespace: (odd) => ({ path: `/api/v1/namespaces/${odd}/configmaps` }),
  resource: (odd) => ({ path: `/api/v1/namespaces/default/${odd}` }),
  'API group': (odd) => ({ path: `/apis/${odd}/v1/things` }),
  path: (odd) => ({ path: `/${odd}` }),
  subresource: (odd) => ({ path: `${maps}/a/${odd}` }),
  'selector of fields': (odd) => ({ path: `${maps}?fieldSelector=metadata.name%3D${odd}` }),
  'selector of labels': (odd) => ({ path: `${maps}?labelSelector=${odd.slice(-60)}%3Da` }),
  'parameter of a query': (odd) => ({ path: `${maps}?${odd}=${odd}` }),
  'continue token': (odd) => ({ path: `${maps}?continue=${odd}` }),
  'watched name': (odd) => ({
    path: `${maps}?watch=1&timeoutSeconds=1&fieldSelector=metadata.name%3D${odd}`,
    agent: apart,
  }),
  'audience of a token': (odd) => ({
    path: reviews('authentication.k8s.io', 'tokenreviews'),
    method: 'POST',
    body: review('authentication.k8s.io', 'TokenReview', { token: 'a.b.c', audiences: [odd] }),
  }),
  'group of a review': (odd) => ({
    path: reviews('authorization.k8s.io', 'subjectaccessreviews'),
    method: 'POST',
    body: review('authorization.k8s.io', 'SubjectAccessReview', {
      user: 'ann',
      groups: [odd],
      resourceAttributes: { verb: 'get', resource: 'pods', namespace: odd },
    }),
  }),
  'patched field': (odd) => ({
    path: `${maps}/a?dryRun=All`,
    method: 'PATCH',
    body: { metadata: { annotations: { [odd]: 'a' } } },
    headers: { 'content-type': 'application/merge-patch+json' },
  }),
  'applied field': (odd) => ({
    path: `${maps}/a?dryRun=All&fieldManager=b`,
    method: 'PATCH',
    body: { apiVersion: 'v1', kind: 'ConfigMap', data: { [odd.slice(-200)]: 'a', [odd]: 'b' } },
    headers: { 'content-type': 'application/apply-patch+yaml' },
  }),
}

/** More than is kept of anything. */
const rounds = 4 * keptMax

t.test('of texts that clients choose few are kept, and none that is long', async (t) => {
  const server = await startWithLimits(t, few)
  const agent = new https.Agent({ keepAlive: true, maxSockets: 4 })
  t.teardown(() => agent.destroy())
  await call(server, { path: maps, method: 'POST', body: { metadata: { name: 'a' } } })
  const askAll = async (t: Test, oddOf: (i: number) => string) => {
    for (const [what, request] of Object.entries(asking)) {
      const own = what.replaceAll(' ', '-').toLowerCase()
      const ask = async (_: unknown, i: number): Promise<number> =>
        (await call(server, { agent, ...request(`${mark}-${own}-${oddOf(i)}`) })).status
      const statuses = await Promise.all(Array.from({ length: rounds }, ask))
      t.ok(
        statuses.every((status) => status < 500),
        `${what}: ${[...new Set(statuses)]}`,
      )
    }
  }
  await t.test('short ones', async (t) => {
    await askAll(t, (i) => `s${i}`)
    const held = await heldWith(`${mark}-`)
    // What is asked for once more is kept: this test does see what is.
    t.ok(held.length > 0)
    t.same(
      held.filter(({ count }) => count > 2 * keptMax),
      [],
    )
  })
  await t.test('long ones', async (t) => {
    await askAll(t, (i) => `l${'x'.repeat(limits.keptQuestionLengthMax)}${i}`)
    const held = await heldWith(`${mark}-`)
    t.same(
      held.filter(({ length }) => length > limits.keptQuestionLengthMax),
      [],
    )
  })
})
