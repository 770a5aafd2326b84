/** Kubeconfigs of several files, as client-go puts them together. */
import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { kubeconfigFlag, readKubeconfigOf } from '#client/kubeconfig-flag.js'
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
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    clusters: [{ name: 'c', cluster: { server: 'https://c' } }],
    users: null,
  })
  const list = [users, rest].join(path.delimiter)
  t.match(await readKubeconfigOf(flagsOf(), list), { server: 'https://c', token: 'one' })
})
