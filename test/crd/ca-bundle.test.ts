/** Authorities of a conversion webhook, as client-go reads them: a definition waits until they make sense. */
import t from 'tap'
import { caBundleProblem } from '#crd/definition/ca-bundle.js'
import type { CustomResourceDefinition } from '#crd/definition/definition.js'
import { issueCertificate } from '#net/x509.js'

const life = { notBeforeMs: Date.UTC(2020, 0), notAfterMs: Date.UTC(2100, 0) }
const { certPem } = issueCertificate({ ...life, use: 'authority', subject: { commonName: 'ca' } })
const block = (label: string) => `-----BEGIN ${label}-----\nAAAA\n-----END ${label}-----\n`

const problemOf = (pem: string): string | undefined =>
  caBundleProblem({
    spec: {
      conversion: {
        strategy: 'Webhook',
        webhook: { clientConfig: { caBundle: Buffer.from(pem).toString('base64') } },
      },
    },
  } as CustomResourceDefinition)

t.test('one certificate is enough, wherever it stands', async (t) => {
  t.equal(problemOf(certPem), undefined)
  t.equal(problemOf(`some words\n${block('KEY')}${block('CERTIFICATE')}${certPem}more`), undefined)
})

t.test('without one it is told what was found', async (t) => {
  const cannot = 'unable to load root certificates: '
  t.equal(
    problemOf(block('KEY') + block('CERTIFICATE')),
    `${cannot}failed to parse certificate: x509: malformed certificate`,
  )
  t.equal(problemOf(`words\n${block('KEY')}`), `${cannot}no valid certificate authority data seen`)
  t.equal(problemOf(`${block('KEY')}words`), `${cannot}unable to parse bytes as PEM block`)
  t.equal(problemOf('words'), `${cannot}unable to parse bytes as PEM block`)
})

t.test('beginnings without an end are not searched again for each', async (t) => {
  t.match(problemOf('-----BEGIN A-----\n'.repeat(100_000)), /unable to parse bytes as PEM block/)
})
