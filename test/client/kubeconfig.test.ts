/** Kubeconfigs of several files, as client-go puts them together. */
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import t from 'tap'
import { createClient } from '#client/client.js'
import { kubeconfigFlag, readKubeconfigOf } from '#client/kubeconfig-flag.js'
import { resources } from '#client/resources.js'
import { parseFlags } from '#program/flags.js'

const fileOf = (folder: string, name: string, document: object): string => {
  const file = path.join(folder, name, 'config')
  mkdirSync(path.dirname(file))
  writeFileSync(file, JSON.stringify(document))
  return file
}
const flagsOf = (...args: string[]) => parseFlags(args, [kubeconfigFlag], {})

t.test('of the files in $KUBECONFIG the first that says something counts', async (t) => {
  const folder = t.testdir()
  const first = fileOf(folder, 'first', {
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u', namespace: 'n' } }],
    users: [{ name: 'u', user: { tokenFile: 'token' } }],
  })
  writeFileSync(path.join(folder, 'first', 'token'), 'one')
  const second = fileOf(folder, 'second', {
    'current-context': 'x',
    contexts: [{ name: 'x', context: { cluster: 'd', user: 'v' } }],
    clusters: [{ name: 'c', cluster: { server: 'https://c', 'certificate-authority': 'ca' } }],
    users: [{ name: 'u', user: { token: 'two', username: 'somebody' } }],
  })
  writeFileSync(path.join(folder, 'second', 'ca'), 'authority')
  const missing = path.join(folder, 'missing')
  const list = [missing, first, '', second].join(path.delimiter)
  t.match(await readKubeconfigOf(flagsOf(), list), {
    ...{ server: 'https://c', namespace: 'n', ca: 'authority', token: 'one' },
    username: undefined,
  })
  await t.rejects(readKubeconfigOf(flagsOf(`--kubeconfig=${first}`), list), /no context ""/)
  await t.rejects(readKubeconfigOf(flagsOf(), missing), /there is no file .*missing/)
})

t.test('a list without entries may be null, as kubectl writes it', async (t) => {
  const folder = t.testdir()
  const users = fileOf(folder, 'users', {
    ...{ clusters: null, contexts: null, 'current-context': '' },
    users: [{ name: 'u', user: { token: 'one' } }],
  })
  const rest = fileOf(folder, 'rest', {
    'current-context': 'x',
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u', namespace: '' } }],
    clusters: [{ name: 'c', cluster: { server: 'https://c' } }],
    users: null,
  })
  const list = [users, rest].join(path.delimiter)
  t.match(await readKubeconfigOf(flagsOf(), list), {
    ...{ server: 'https://c', token: 'one', namespace: 'default' },
  })
})

t.test(
  'what a kubeconfig lacks is empty, and what no client can use is told in a line',
  async (t) => {
    const folder = t.testdir()
    let files = 0
    const read = (cluster: object | null, user?: object | null) =>
      readKubeconfigOf(
        flagsOf(
          `--kubeconfig=${fileOf(folder, String(files++), {
            'current-context': 'x',
            contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
            clusters: [{ name: 'c', cluster }],
            users: [{ name: 'u', ...(user === undefined ? {} : { user }) }],
          })}`,
        ),
      )
    const server = 'https://c'
    for (const user of [undefined, null]) t.match(await read({ server }, user), { server })
    for (const cluster of [null, {}])
      await t.rejects(read(cluster), /: kubeconfig has no server for the cluster "c"$/)
    for (const wrong of ['not a url', '127.0.0.1:6443', 'https://', 'ftp://c'])
      await t.rejects(read({ server: wrong }), /: the server ".*" is no URL such as/)
    const provider = { 'auth-provider': { name: 'login' } }
    await t.rejects(
      read({ server }, provider),
      /: the user "u" of the kubeconfig has its credentials from auth-provider, which/,
    )
    t.match(await read({ server }, { ...provider, token: 'own' }), { token: 'own' })
    const v1 = 'client.authentication.k8s.io/v1'
    for (const [exec, problem] of [
      [{ apiVersion: v1, interactiveMode: 'Never' }, 'command must be specified for u to use exec'],
      [{ command: 'login' }, 'apiVersion must be specified for u to use exec'],
      [{ apiVersion: v1, command: 'login' }, 'interactiveMode must be specified for u to use exec'],
      [
        { apiVersion: v1, command: 'a', interactiveMode: 'x' },
        'invalid interactiveMode for u: "x"',
      ],
      [
        { apiVersion: 'v1', command: 'a', interactiveMode: 'Never' },
        'exec plugin: invalid apiVersion "v1"',
      ],
    ] as const)
      await t.rejects(read({ server }, { exec }), new RegExp(`: ${problem}`))
    await t.rejects(
      read({ server, 'proxy-url': 'ftp://p' }),
      /: unsupported scheme "ftp", must be http, https, or socks5$/,
    )
    await t.rejects(read({ server, 'proxy-url': '//' }), /: could not parse: \/\/$/)
    const text = Buffer.from('text').toString('base64')
    await t.rejects(
      read({ server }, { 'client-certificate-data': text, 'client-key-data': text }),
      /: tls: failed to find any PEM data in certificate input$/,
    )
    const yaml = path.join(folder, 'config.yaml')
    writeFileSync(yaml, 'a: [')
    await t.rejects(readKubeconfigOf(flagsOf(`--kubeconfig=${yaml}`)), { message: /^.*$/ })
  },
)

t.test('a server may lie below a path', async (t) => {
  const asked: string[] = []
  const proxy = createServer(({ url = '' }, response) => {
    asked.push(url)
    response.end('{}')
  })
  t.teardown(() => proxy.close())
  await once(proxy.listen(0, '127.0.0.1'), 'listening')
  const { port } = proxy.address() as AddressInfo
  const client = createClient({
    server: `http://127.0.0.1:${port}/clusters/one`,
    namespace: 'default',
  })
  t.teardown(() => client.close())
  await client.get(resources.nodes, { name: 'n' })
  t.same(asked, ['/clusters/one/api/v1/nodes/n'])
})

t.test('requests count as whom the user of a kubeconfig acts', async (t) => {
  const shown: string[][] = []
  const api = createServer(({ rawHeaders }, response) => {
    shown.push(
      rawHeaders.flatMap((name, i) =>
        i % 2 === 0 && /^impersonate-/i.test(name)
          ? [`${name}: ${Buffer.from(rawHeaders[i + 1]!, 'latin1')}`.toLowerCase()]
          : [],
      ),
    )
    response.end('{}')
  })
  t.teardown(() => api.close())
  await once(api.listen(0, '127.0.0.1'), 'listening')
  const folder = t.testdir()
  const ask = async (name: string, user: object) => {
    const file = fileOf(folder, name, {
      'current-context': 'x',
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      clusters: [
        {
          name: 'c',
          cluster: { server: `http://127.0.0.1:${(api.address() as AddressInfo).port}` },
        },
      ],
      users: [{ name: 'u', user }],
    })
    const client = createClient(await readKubeconfigOf(flagsOf(`--kubeconfig=${file}`)))
    t.teardown(() => client.close())
    await client.get(resources.nodes, { name: 'n' })
    return shown.at(-1)
  }
  t.same(await ask('groups', { 'as-groups': ['g'] }), [], 'of nobody')
  t.same(await ask('user', { as: 'zoë' }), ['impersonate-user: zoë'])
  const extra = { 'a.io/é': ['x', 'y'] }
  t.same(
    await ask('all', { as: 'a', 'as-uid': '7', 'as-groups': ['g', 'h'], 'as-user-extra': extra }),
    [
      'impersonate-user: a',
      'impersonate-uid: 7',
      ...['impersonate-group: g', 'impersonate-group: h'],
      ...['impersonate-extra-a.io%2f%c3%a9: x', 'impersonate-extra-a.io%2f%c3%a9: y'],
    ],
  )
})
