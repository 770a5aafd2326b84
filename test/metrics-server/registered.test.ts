/** The metrics server is known to the API server, and knows who may ask, for as long as it runs. */
import { once } from 'node:events'
import https from 'node:https'
import t, { type Test } from 'tap'
import { systemClock } from '#api/clock.js'
import type { KubeObject } from '#api/object.js'
import { resources } from '#client/resources.js'
import { metricsServerProcess } from '#metrics-server/main.js'
import { issueCertificate } from '#net/x509.js'
import { parseFlags } from '#program/flags.js'
import { startBeside } from '../controllers/in-process.js'
import { eventually } from '../eventually.js'

const at = { name: 'v1beta1.metrics.k8s.io' }

const start = async (t: Test) => {
  const flags = parseFlags(
    ['--address=127.0.0.1', '--metric-resolution=1s'],
    metricsServerProcess.flags,
  )
  const client = await startBeside(t, (deps) => metricsServerProcess.run(deps, flags))
  const specOf = () =>
    client.get<KubeObject>(resources.apiServices, at).then(
      ({ spec }) => spec,
      () => undefined,
    )
  return { client, specOf, spec: await eventually('it is registered', specOf) }
}

t.test('it is registered again when somebody has deleted or changed that', async (t) => {
  const { client, specOf, spec } = await start(t)
  await client.delete(resources.apiServices, at)
  t.same(await eventually('it is there again', specOf), spec)
  const stale = { spec: { service: { port: 1 } } }
  await client.patch(resources.apiServices, at, stale, { type: 'merge' })
  await eventually('it is right again', async () => (await specOf())?.service.port !== 1)
  t.same(await specOf(), spec)
})

t.test('a front proxy of another authority is let in once that is told', async (t) => {
  const { client, spec } = await start(t)
  const now = systemClock.now()
  const life = { notBeforeMs: now - 1000, notAfterMs: now + 86_400_000 }
  const issuer = issueCertificate({ ...life, use: 'authority', subject: { commonName: 'other' } })
  const subject = { commonName: 'front-proxy-client' }
  const own = issueCertificate({ ...life, use: 'client', subject, issuer })
  const ask = async (path = '/apis'): Promise<number | undefined> => {
    const request = https.get({
      port: spec!.service.port,
      path,
      rejectUnauthorized: false,
      agent: false,
      cert: own.certPem,
      key: own.keyPem,
    })
    const [answer] = await once(request, 'response')
    answer.resume()
    return answer.statusCode
  }
  t.equal(await ask(), 401)
  const named = { namespace: 'kube-system', name: 'extension-apiserver-authentication' }
  const key = 'requestheader-client-ca-file'
  const { data } = await client.get<KubeObject>(resources.configMaps, named)
  const patch = { data: { [key]: `${(data as Record<string, string>)[key]}${issuer.certPem}` } }
  await client.patch(resources.configMaps, named, patch, { type: 'merge' })
  await eventually('it is let in', async () => (await ask()) === 200)
  t.equal(await ask('/apis/metrics.k8s.io/v1beta1/%zz'), 404, 'a path that is no text')
})
