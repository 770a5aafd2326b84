import https from 'node:https'
import t from 'tap'
import { systemClock } from '#api/clock.js'
import { createTransport } from '#client/transport.js'
import { issueCertificate } from '#net/x509.js'
import { sendReview } from '#webhook/webhook-client.js'
import { listen } from '../listen.js'

t.test(
  'the certificate of a server has to be for tls-server-name, a name or an address',
  async (t) => {
    const warnings: string[] = []
    const warned = ({ message }: Error) => void warnings.push(message)
    process.on('warning', warned)
    t.teardown(() => process.off('warning', warned))
    const notBeforeMs = systemClock.now() - 60_000
    const span = { notBeforeMs, notAfterMs: notBeforeMs + 3_600_000 }
    const ca = issueCertificate({ use: 'authority', subject: { commonName: 'ca' }, ...span })
    const names = ['somewhere.example', '127.0.0.9', '2001:db8::9']
    const subject = { commonName: 'server' }
    const issued = issueCertificate({ use: 'server', subject, names, issuer: ca, ...span })
    const sent: unknown[] = []
    const server = https.createServer(
      { key: issued.keyPem, cert: issued.certPem },
      (request, answer) => {
        sent.push((request.socket as typeof request.socket & { servername: unknown }).servername)
        answer.end('hello')
      },
    )
    const port = await listen(t, server)
    const statusFor = async (serverName?: string) => {
      const config = { server: `https://127.0.0.1:${port}`, ca: ca.certPem, namespace: 'default' }
      const transport = createTransport(
        serverName === undefined ? config : { ...config, serverName },
      )
      t.teardown(() => transport.close())
      const answer = await transport.send({ method: 'GET', path: '/' })
      answer.resume()
      return answer.statusCode
    }
    t.equal(await statusFor('somewhere.example'), 200)
    t.equal(await statusFor('127.0.0.9'), 200)
    t.equal(await statusFor('2001:db8:0::9'), 200)
    t.same(sent, ['somewhere.example', false, false], 'an address is not sent')
    const wrong = { code: 'ERR_TLS_CERT_ALTNAME_INVALID' }
    await t.rejects(statusFor('elsewhere.example'), wrong)
    await t.rejects(statusFor('127.0.0.8'), wrong)
    await t.rejects(statusFor('2001:db8::8'), wrong)
    await t.rejects(statusFor(), wrong)
    t.same(warnings, [])
  },
)

t.test('the common name of a certificate is no name of a server, as in Go', async (t) => {
  const notBeforeMs = systemClock.now() - 60_000
  const span = { notBeforeMs, notAfterMs: notBeforeMs + 3_600_000 }
  const startedAs = async (commonName: string, names?: string[]) => {
    const { certPem, keyPem } = issueCertificate({
      use: 'server',
      subject: { commonName },
      ...(names && { names }),
      ...span,
    })
    const server = https.createServer({ key: keyPem, cert: certPem }, (_, answer) => answer.end())
    const host = names === undefined ? 'localhost' : '127.0.0.1'
    return { url: `https://${host}:${await listen(t, server)}`, ca: certPem }
  }
  const refusalOf = async (commonName: string, names?: string[]) => {
    const { url, ca } = await startedAs(commonName, names)
    const config = { url, caBundle: Buffer.from(ca).toString('base64') }
    const findService = () => Promise.reject(new Error('it is no Service'))
    const signal = new AbortController().signal
    const group = 'admission.k8s.io'
    const call = {
      review: {},
      group,
      kind: 'AdmissionReview' as const,
      timeoutSeconds: 30,
      signal,
      findService,
    }
    const told = await sendReview(config, call).catch(({ message }: Error) => message)
    return String(told).replace(/^Post "[^"]*": tls: failed to verify certificate: /, '')
  }
  const legacy = 'x509: certificate relies on legacy Common Name field, use SANs instead'
  t.equal(await refusalOf('localhost'), legacy)
  t.equal(await refusalOf('*'), legacy)
  t.equal(
    await refusalOf('elsewhere'),
    'x509: certificate is not valid for any names, but wanted to match localhost',
  )
  t.equal(
    await refusalOf('127.0.0.1', ['2001:db8::9', 'somewhere']),
    'x509: certificate is valid for 2001:db8::9, not 127.0.0.1',
  )
  const { url, ca } = await startedAs('localhost')
  const transport = createTransport({ server: url, ca, namespace: 'default' })
  t.teardown(() => transport.close())
  await t.rejects(transport.send({ method: 'GET', path: '/' }), {
    code: 'ERR_TLS_CERT_ALTNAME_INVALID',
  })
})
