/** What is said of files that name no authorizers, as recorded from kube-apiserver v1.36.3; FILE stands for a kubeconfig. */
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { readAuthorizationConfiguration } from '#src/authz/authorization-configuration.js'
import { readRecorded } from '../recorded.js'

const cases = readRecorded<{ text: string; problem: string }[]>('authz/authorization-configuration')

/** Upstream told them in a list with another mistake. */
const unlisted = (message: string): string => /^\[(.*)\]$/s.exec(message)?.[1] ?? message

t.test('mistakes in a file are reported as by kube-apiserver', async (t) => {
  const file = path.join(t.testdir(), 'kubeconfig')
  writeFileSync(file, '')
  for (const { text, problem } of cases)
    try {
      readAuthorizationConfiguration(text.replaceAll('FILE', file))
      t.fail(`${text} is taken`)
    } catch (error) {
      t.equal(unlisted((error as Error).message), problem, text)
    }
})

t.test('built-in authorizers that a server started with must stay', async (t) => {
  const text = (...types: string[]) =>
    JSON.stringify({
      apiVersion: 'apiserver.config.k8s.io/v1beta1',
      kind: 'AuthorizationConfiguration',
      authorizers: types.map((type) => ({ type, name: type.toLowerCase() })),
    })
  t.throws(() => readAuthorizationConfiguration(text('RBAC'), ['RBAC', 'Node']), {
    message: 'missing required types: [Node]',
  })
  t.same(readAuthorizationConfiguration(text('Node', 'RBAC'), ['RBAC', 'Node']), [
    { type: 'Node' },
    { type: 'RBAC' },
  ])
})
