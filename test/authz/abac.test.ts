/** Mode ABAC: what policies of a file allow and what is wrong with files, as recorded from kube-apiserver v1.36.3. */
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import type { JsonObject } from '#json/value.js'
import { limits } from '#limits'
import { readPolicyFile } from '#src/authz/abac-policy-file.js'
import { createServer } from '../create-server.js'
import { readRecorded } from '../recorded.js'
import { call, startServer } from '../server/start-server.js'

interface Recorded {
  policies: string
  decisions: [spec: JsonObject, status: JsonObject][]
  rules: { user: string; namespace: string; resourceRules: unknown; nonResourceRules: unknown }[]
  files: { text: string; problem: string }[]
}

const recorded = readRecorded<Recorded>('authz/abac')

t.test('policies of a file decide as those of kube-apiserver do, before RBAC', async (t) => {
  const authorizationPolicyFile = path.join(t.testdir(), 'policies')
  writeFileSync(authorizationPolicyFile, recorded.policies)
  const server = await startServer(t, {
    authorizationModes: ['ABAC', 'RBAC'],
    authorizationPolicyFile,
  })
  const api = '/apis/authorization.k8s.io/v1'
  const review = async (resource: string, spec: JsonObject, headers = {}) => {
    const body = { apiVersion: 'authorization.k8s.io/v1', spec }
    return call(server, { method: 'POST', path: `${api}/${resource}`, body, headers })
  }
  for (const [spec, status] of recorded.decisions)
    t.same(
      (await review('subjectaccessreviews', spec)).body.status,
      status,
      `what is answered to ${JSON.stringify(spec)}`,
    )
  // Bindings have no order of their own, and upstream tells their rules in that of a map.
  const sorted = (rules: JsonObject[]) => rules.map((rule) => JSON.stringify(rule)).sort()
  for (const { user, namespace, ...rules } of recorded.rules) {
    const headers = { 'impersonate-user': user }
    const { status } = (await review('selfsubjectrulesreviews', { namespace }, headers)).body
    const own = (status.nonResourceRules as JsonObject[]).filter(
      ({ nonResourceURLs }) => !(nonResourceURLs as string[]).includes('/healthz'),
    )
    t.same(sorted(status.resourceRules), sorted(rules.resourceRules as JsonObject[]), user)
    t.same(sorted(own), sorted(rules.nonResourceRules as JsonObject[]), user)
  }
})

t.test('mistakes in a file are reported as by kube-apiserver', async (t) => {
  const file = path.join(t.testdir(), 'policies')
  const problemOf = (text: string): string => {
    writeFileSync(file, text)
    try {
      readPolicyFile(file)
      return ''
    } catch (error) {
      return (error as Error).message.replaceAll(file, 'FILE')
    }
  }
  for (const { text, problem } of recorded.files) t.equal(problemOf(text), problem, text)
  const start = 'invalid authorization config: '
  t.equal(
    problemOf(`user: ${'x'.repeat(limits.policyLineBytesMax)}`),
    `${start}error reading policy file FILE: bufio.Scanner: token too long`,
  )
  const folder = t.testdir()
  t.throws(() => readPolicyFile(folder), {
    message: `${start}error reading policy file ${folder}: read ${folder}: is a directory`,
  })
  const missing = path.join(t.testdir(), 'missing')
  t.throws(() => readPolicyFile(missing), {
    message: `${start}open ${missing}: no such file or directory`,
  })
})

t.test('the mode and the file go together', async (t) => {
  await t.rejects(createServer({ authorizationModes: ['ABAC'] }), {
    message: "authorization-mode ABAC's authorization policy file not passed",
  })
  await t.rejects(createServer({ authorizationPolicyFile: '/nowhere' }), {
    message: 'cannot specify --authorization-policy-file without mode ABAC',
  })
})
