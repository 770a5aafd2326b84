/** What a file of --admission-control-config-file has plugins do: the answers are those of kube-apiserver v1.36.3 with the same file. */
import { readFileSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import path from 'node:path'
import t, { type Test } from 'tap'
import { listen } from '../../listen.js'
import { readRecorded } from '../../recorded.js'
import { temporaryDirectory } from '../../storage/level-fixture.js'
import { call, startServer } from '../start-server.js'

interface Step {
  method: string
  path: string
  body?: object
  token?: string
  contentType?: string
  code: number
  /** Of a refusal. */
  message?: string
  /** Of a Pod. */
  spec?: object
  warnings?: string[]
  /** What the audit log tells. */
  annotations?: Record<string, string>
  /** What the server of the image policy was sent. */
  reviews?: object[]
}

interface Story {
  /** What the file says. */
  file: string
  enabled: string[]
  steps: Step[]
}

const recorded = readRecorded<Record<string, Story>>('server/admission/told-plugins')

const imageReview = { kind: 'ImageReview', apiVersion: 'imagepolicy.k8s.io/v1alpha1' }

/** The body of an answer about the last image, `what:detail`. */
const judge = (what: string, detail: string): string => {
  const status = {
    allowed: what === 'ok' || what === 'audit',
    ...(detail === 'reason' && { reason: 'not signed' }),
    ...(what === 'audit' && { auditAnnotations: { checked: 'yes', 'bad key': 'x' } }),
  }
  const special: Record<string, string> = {
    status: 'sorry',
    empty: '',
    text: 'hello',
    kind: JSON.stringify({ ...imageReview, kind: 'Other', status: { allowed: true } }),
    bare: JSON.stringify({ status: { allowed: true } }),
  }
  return special[what] ?? JSON.stringify({ ...imageReview, status })
}

const startImagePolicy = async (t: Test): Promise<{ url: string; reviews: object[] }> => {
  const reviews: object[] = []
  const server = http.createServer(async (request, response) => {
    const { authorization, accept } = request.headers
    const body = JSON.parse(Buffer.concat(await request.toArray()).toString())
    reviews.push({ path: request.url, accept, ...(authorization && { authorization }), body })
    const [what = '', detail = ''] = body.spec.containers.at(-1).image.split(':')
    if (what === 'close') {
      request.socket.end()
      return
    }
    response.statusCode = what === 'status' ? Number(detail) : 200
    response.setHeader('content-type', what === 'status' ? 'text/plain' : 'application/json')
    // A connection that is kept may be closed as it is used, and then the client asks again.
    response.setHeader('connection', 'close')
    response.end(judge(what, detail))
  })
  const port = await listen(t, server)
  return { url: `http://127.0.0.1:${port}`, reviews }
}

const tokens = ['admin', 'boss'].map((name) => `${name}token,${name},${name}-uid,system:masters`)
const policy = 'apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n'

const startTold = async (t: Test, { file, enabled }: Story) => {
  const images = await startImagePolicy(t)
  const folder = temporaryDirectory(t)
  const written = (name: string, text: string): string => {
    writeFileSync(path.join(folder, name), text.replaceAll('FOLDER', folder))
    return path.join(folder, name)
  }
  const kubeconfig = {
    clusters: [{ name: 'c', cluster: { server: `${images.url}/images` } }],
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    users: [{ name: 'u', user: { token: 'image-token' } }],
    'current-context': 'c',
  }
  written('images.kubeconfig', JSON.stringify(kubeconfig))
  const log = path.join(folder, 'audit.log')
  const server = await startServer(t, {
    admissionControlConfigFile: written('admission.yaml', file),
    enableAdmissionPlugins: enabled,
    disableAdmissionPlugins: ['ServiceAccount'],
    tokenAuthFile: written('tokens.csv', tokens.join('\n')),
    audit: { policyFile: written('policy.yaml', policy), log: { path: log } },
  })
  const annotationsOf = (auditId: string): Record<string, string> => {
    const lines = readFileSync(log, 'utf8').trim().split('\n')
    const event = lines
      .map((line) => JSON.parse(line))
      .find(({ auditID, stage }) => auditID === auditId && stage === 'ResponseComplete')
    const all = Object.entries(event.annotations ?? {}) as [string, string][]
    return Object.fromEntries(all.filter(([key]) => !key.includes('authorization')))
  }
  return { server, images, annotationsOf }
}

const withoutChance = (message = ''): string => message.replace(/g-[a-z0-9]{5}/g, 'g-*')

for (const [name, story] of Object.entries(recorded))
  t.test(name, async (t) => {
    const { server, images, annotationsOf } = await startTold(t, story)
    for (const step of story.steps) {
      const { method, path, body, token = 'admintoken', contentType, ...wanted } = step
      images.reviews.length = 0
      const headers: Record<string, string> =
        contentType === undefined ? {} : { 'content-type': contentType }
      const answer = await call(server, { method, path, body, token, headers })
      const what = `${method} ${path} ${JSON.stringify(body ?? '')}`
      t.equal(answer.status, wanted.code, what)
      const shown = withoutChance(answer.body.message).replaceAll(images.url, 'HOOK')
      if (answer.body.kind === 'Status') t.equal(shown, withoutChance(wanted.message), what)
      if (answer.body.kind === 'Pod') t.same(answer.body.spec, wanted.spec, what)
      t.same(images.reviews, wanted.reviews ?? [], what)
      const warnings = answer.headers.warning as string | undefined
      t.equal(warnings ?? '', (wanted.warnings ?? []).join(', '), what)
      const auditId = String(answer.headers['audit-id'])
      t.same(annotationsOf(auditId), wanted.annotations ?? {}, what)
    }
  })
