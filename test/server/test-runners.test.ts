/**
 * A server in the process of a test runner, as Jest and Vitest make it: in a realm of its own, where Node's objects and
 * errors are of another, and with fake timers, under which nothing comes due and no time passes.
 */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { createContext, Script } from 'node:vm'
import t, { type Test } from 'tap'
import type * as Package from '#src/index.js'
import { definitionOf, versionOf } from './definition-body.js'
import { call, isServed, openWatch, startServer } from './start-server.js'

const file = fileURLToPath(new URL('../../bundle/create-server.cjs', import.meta.url))
const require = createRequire(file)

type Realm = Record<string, unknown>

/** With Node's globals, and what the language has by itself anew; binary data is of Node's, as in Jest. */
const makeRealm = (): Realm => {
  const realm = createContext({}) as Realm
  const own = new Set(
    new Script('Object.getOwnPropertyNames(globalThis)').runInContext(realm) as string[],
  )
  for (const name of Object.getOwnPropertyNames(globalThis))
    if (!own.has(name)) realm[name] = globalThis[name as keyof typeof globalThis]
  return Object.assign(realm, {
    ArrayBuffer,
    Uint8Array,
    globalThis: realm,
    process: Object.create(process),
  })
}

const load = (realm: Realm): typeof Package => {
  const text = `(function (exports, require, module, __filename, __dirname) {${readFileSync(file, 'latin1')}\n})`
  const module = { exports: {} }
  new Script(text, { filename: file }).runInContext(realm)(
    module.exports,
    require,
    module,
    file,
    path.dirname(file),
  )
  return module.exports as typeof Package
}

const timers = [
  'setTimeout',
  'setInterval',
  'setImmediate',
  'clearTimeout',
  'clearInterval',
  'clearImmediate',
  'queueMicrotask',
]

/** As @sinonjs/fake-timers, of which Jest's and Vitest's are. */
const stopTime = (t: Test, realm: Realm): void => {
  const never = () => ({})
  for (const name of timers) realm[name] = never
  for (const name of ['nextTick', 'hrtime'])
    Object.defineProperty(realm.process, name, { value: never })
  const began = Date.now()
  realm.Date = class extends Date {
    static override now = () => began
    constructor() {
      super(began)
    }
  }
  realm.performance = { now: () => 0, timeOrigin: began }
  const modules = ['node:timers', 'node:timers/promises']
  for (const module of modules.map((name) => require(name))) {
    const names = timers.filter((name) => name in module)
    const real = names.map((name) => module[name])
    for (const name of names) module[name] = () => new Promise(never)
    t.teardown(() => {
      for (const [i, name] of names.entries()) module[name] = real[i]
    })
  }
}

const group = 'example.com'
const things = `/apis/${group}/v1/namespaces/default/things`
const accounts = '/api/v1/namespaces/default/serviceaccounts'

t.test('a server whose test has fake timers answers and closes as ever', async (t) => {
  const realm = makeRealm()
  const { createServer } = load(realm)
  const server = await startServer(t, {}, createServer)
  stopTime(t, realm)
  const send = (method: string, path: string, body?: object) =>
    call(server, { method, path, ...(body === undefined ? {} : { body }) })
  const configMaps = '/api/v1/namespaces/default/configmaps'
  const watch = openWatch(t, server, `${configMaps}?watch=1&resourceVersion=0`)
  for (const name of ['one', 'two'])
    t.equal((await send('POST', configMaps, { metadata: { name } })).status, 201)
  t.equal((await send('GET', `${configMaps}?limit=1`)).body.items.length, 1)
  t.equal((await send('DELETE', configMaps)).status, 200)
  const names = { plural: 'things', kind: 'Thing' }
  const count = { type: 'integer', 'x-kubernetes-validations': [{ rule: 'self < 5' }] }
  const schema = { type: 'object', properties: { count } }
  const versions = [versionOf('v1', schema)]
  await send(
    'POST',
    '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
    definitionOf({ group, scope: 'Namespaced', names, versions }),
  )
  await isServed(server, things)
  const thing = { apiVersion: `${group}/v1`, kind: 'Thing', metadata: { name: 'x' }, count: 9 }
  t.match((await send('POST', things, thing)).body, { code: 422, reason: 'Invalid' })
  await send('POST', accounts, { metadata: { name: 'robot' } })
  const issued = await send('POST', `${accounts}/robot/token`, { spec: {} })
  t.equal(issued.status, 201)
  const { token } = issued.body.status
  const asked = await call(server, { path: configMaps, token })
  t.match(
    asked.body.message,
    /^configmaps is forbidden: User "system:serviceaccount:default:robot"/,
  )
  const before = Date.now()
  server.clock.advance('1h')
  const { creationTimestamp } = (await send('POST', configMaps, { metadata: { name: 'late' } }))
    .body.metadata
  t.ok(Date.parse(creationTimestamp) > before + 3_500_000, 'its clock is moved by its own means')
  t.equal((await watch.lines(5)).length, 5)
  await server.close()
})

t.test("an error of Node's own is answered as one of ours", async (t) => {
  const realm = makeRealm()
  let isBroken = false
  const { subtle } = crypto
  const sign = (...input: Parameters<typeof subtle.sign>) =>
    isBroken ? Promise.reject(new TypeError('planted')) : subtle.sign(...input)
  realm.crypto = {
    subtle: new Proxy(subtle, {
      get: (_, name) => (name === 'sign' ? sign : Reflect.get(subtle, name).bind(subtle)),
    }),
  }
  const server = await startServer(t, {}, load(realm).createServer)
  await call(server, { method: 'POST', path: accounts, body: { metadata: { name: 'robot' } } })
  isBroken = true
  const issued = await call(server, {
    method: 'POST',
    path: `${accounts}/robot/token`,
    body: { spec: {} },
  })
  t.equal(issued.status, 500)
  t.match(issued.body, { kind: 'Status', reason: 'InternalError', message: /planted/ })
})
