/** Which requests for certificates are approved without anybody, and which are not signed. */
import { generateKeyPairSync, sign } from 'node:crypto'
import t from 'tap'
import type { PersistedObject } from '#api/object.js'
import { signers } from '#api/signers.js'
import { createClient } from '#client/client.js'
import { parseKubeconfig } from '#client/kubeconfig.js'
import { resources } from '#client/resources.js'
import { overSince } from '#controllers/certificates/clean.js'
import type { SigningRequest } from '#controllers/certificates/sign.js'
import { refusalOf } from '#controllers/certificates/verify.js'
import { der } from '#net/der.js'
import { issueCertificate } from '#net/x509.js'
import { createServer } from '../create-server.js'
import { storedMetadata } from '../stored-metadata.js'
import { until } from './cluster.js'
import { manage } from './in-process.js'

const usages = ['client auth', 'digital signature']

/** PEM in base64, of a key of its own. */
const requestFor = (commonName: string, organization: string): string => {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const part = (oid: string, value: string) => der.set(der.sequence(der.oid(oid), der.text(value)))
  const info = der.sequence(
    der.integer(Buffer.from([0])),
    der.sequence(part('2.5.4.10', organization), part('2.5.4.3', commonName)),
    publicKey.export({ type: 'spki', format: 'der' }),
    der.tlv(0xa0),
  )
  const algorithm = der.sequence(der.oid('1.2.840.10045.4.3.2'))
  const request = der.sequence(info, algorithm, der.bits(sign('sha256', info, privateKey)))
  const body = request.toString('base64')
  const pem = `-----BEGIN CERTIFICATE REQUEST-----\n${body}\n-----END CERTIFICATE REQUEST-----\n`
  return Buffer.from(pem).toString('base64')
}

t.test('a node gets a certificate by itself only where a rule lets it', async (t) => {
  const server = await createServer({
    storage: 'memory:',
    port: 0,
    logLevel: 'silent',
    authorizationModes: ['Node', 'RBAC'],
  })
  const clientOf = async (kubeconfig: string) => {
    const client = createClient(await parseKubeconfig(kubeconfig), 'test')
    t.teardown(() => client.close())
    return client
  }
  t.teardown(() => server.close())
  const admin = await clientOf(server.kubeconfig)
  const node = await clientOf(server.kubeconfigOf('system:node:n1', ['system:nodes']))
  const ref = resources.certificateSigningRequests
  const ask = (client: typeof admin, name: string, asNode: string) =>
    client.create(ref, {
      metadata: { name },
      spec: {
        request: requestFor(`system:node:${asNode}`, 'system:nodes'),
        signerName: signers.kubeletClient,
        usages,
      },
    })
  const messageOf = async (name: string): Promise<string | undefined> => {
    const { status } = await admin.get<
      PersistedObject & { status?: { conditions?: { type: string; message: string }[] } }
    >(ref, { name })
    return status?.conditions?.find(({ type }) => type === 'Approved')?.message
  }
  await ask(node, 'own', 'n1')
  // Who may do everything may have the certificate of any node.
  await ask(admin, 'any', 'n2')
  manage(t, admin, { controllers: ['certificatesigningrequest-approving-controller'] })
  await until(async () => (await messageOf('any')) !== undefined)
  t.equal(
    await messageOf('any'),
    'Auto approving kubelet client certificate after SubjectAccessReview.',
  )
  t.equal(await messageOf('own'), undefined, 'no rule lets nodes do so')

  const group = 'rbac.authorization.k8s.io'
  await admin.request({
    method: 'POST',
    path: `/apis/${group}/v1/clusterrolebindings`,
    body: {
      apiVersion: `${group}/v1`,
      kind: 'ClusterRoleBinding',
      metadata: { name: 'nodes' },
      roleRef: {
        apiGroup: group,
        kind: 'ClusterRole',
        name: 'system:certificates.k8s.io:certificatesigningrequests:selfnodeclient',
      },
      subjects: [{ apiGroup: group, kind: 'Group', name: 'system:nodes' }],
    },
  })
  await until(async () => (await messageOf('own')) !== undefined)
  t.equal(
    await messageOf('own'),
    'Auto approving self kubelet client certificate after SubjectAccessReview.',
  )
})

t.test("signers tell in upstream's words what they refuse", async (t) => {
  const subject = (
    kind?: 'email' | 'dns' | 'uri' | 'ip',
    commonName = 'system:node:n',
    group = 'system:nodes',
  ) => ({
    subject: { commonName, organizations: [group], written: Buffer.alloc(0) },
    alternativeNames: kind === undefined ? [] : [{ kind, content: Buffer.from('x') }],
  })
  const [email, dns, uri, ip] = ['email', 'dns', 'uri', 'ip'] as const
  const serving = ['server auth', 'digital signature', 'key encipherment']
  const { kubeletClient, kubeletServing, client, legacy } = signers
  const cases: [signer: string, of: ReturnType<typeof subject>, usages: string[], why?: string][] =
    [
      [kubeletClient, subject(), usages],
      [kubeletClient, subject(), [...usages, 'key encipherment']],
      [
        kubeletClient,
        subject(),
        ['client auth'],
        'usages did not match [client auth digital signature key encipherment]',
      ],
      [
        kubeletClient,
        subject(),
        [...usages, 'server auth'],
        'usages did not match [client auth digital signature key encipherment]',
      ],
      [
        kubeletClient,
        subject(undefined, 'n'),
        usages,
        'subject common name does not begin with system:node:',
      ],
      [
        kubeletClient,
        subject(undefined, 'n', 'x'),
        usages,
        'subject organization is not system:nodes',
      ],
      [kubeletClient, subject(dns), usages, 'DNS subjectAltNames are not allowed'],
      [kubeletClient, subject(email), usages, 'Email subjectAltNames are not allowed'],
      [kubeletClient, subject(ip), usages, 'IP subjectAltNames are not allowed'],
      [kubeletClient, subject(uri), usages, 'URI subjectAltNames are not allowed'],
      [kubeletServing, subject(dns), serving],
      [kubeletServing, subject(ip), serving.slice(0, 2)],
      [kubeletServing, subject(), serving, 'DNS or IP subjectAltName is required'],
      [kubeletServing, subject(uri), serving, 'DNS or IP subjectAltName is required'],
      [
        kubeletServing,
        subject(dns),
        ['server auth'],
        'usages did not match [digital signature key encipherment server auth]',
      ],
      [client, subject(undefined, 'jane', 'devs'), ['client auth']],
      [
        client,
        subject(undefined, 'jane', 'devs'),
        ['digital signature'],
        'missing required usage for client certificate: client auth',
      ],
      [
        client,
        subject(undefined, 'jane', 'devs'),
        ['client auth', 'code signing'],
        'invalid usage for client certificate: code signing',
      ],
      [legacy, subject(undefined, 'jane', 'devs'), ['code signing']],
    ]
  for (const [signer, of, given, why] of cases)
    t.equal(refusalOf(signer, of, given), why, `${signer} ${given.join()} ${why ?? 'signed'}`)
})

t.test(
  'a request is kept for an hour after it was decided, however long it had waited',
  async (t) => {
    const hours = (count: number) => Date.UTC(2026, 0, 1) + count * 3_600_000
    const at = (count: number) => new Date(hours(count)).toISOString()
    const { certPem } = issueCertificate({
      use: 'client',
      subject: { commonName: 'jane' },
      notBeforeMs: hours(0),
      notAfterMs: hours(20.5),
    })
    const certificate = Buffer.from(certPem).toString('base64')
    const of = (status: SigningRequest['status']): number =>
      overSince({
        kind: 'CertificateSigningRequest',
        apiVersion: 'certificates.k8s.io/v1',
        metadata: { ...storedMetadata({ name: 'r' }), creationTimestamp: at(0) },
        spec: { request: '', signerName: signers.client },
        status,
      })
    const decided = (type: string, count: number) => ({
      conditions: [{ type, status: 'True', lastUpdateTime: at(count) }],
    })
    t.equal(of({}), hours(24), 'nobody has decided')
    t.equal(of({ ...decided('Approved', 10), certificate }), hours(11))
    t.equal(of(decided('Approved', 10)), hours(34), 'nobody has signed')
    t.equal(of(decided('Denied', 10)), hours(11))
    t.equal(of(decided('Failed', 10)), hours(11))
    t.equal(
      of({ ...decided('Approved', 20), certificate }),
      hours(20.5),
      'the certificate has ended',
    )
    t.equal(of(decided('Other', 10)), Number.POSITIVE_INFINITY)
  },
)
