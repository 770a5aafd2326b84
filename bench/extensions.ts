/** What extensions of the API cost: a write that asks a webhook, and OpenAPI documents where there are many definitions. */
import https from 'node:https'
import type { AddressInfo } from 'node:net'
import { finished } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { createClient } from '#client/client.js'
import { resources } from '#client/resources.js'
import { createTransport } from '#client/transport.js'
import { issueCertificate } from '#net/x509.js'
import { readFlags } from './read-flags.js'
import { type Rival, running, startOurs } from './rivals.js'

const usage = `node dist/bench/extensions.js [flags]

Creates of ConfigMaps that ask no webhook and, by turns, such that ask a validating one; and how long /openapi/v2 takes
after one of many definitions has changed. Our server is a process of its own on LevelDB; with --against another server
is measured in the same run, after each round of ours.

  --against URL          a server that runs already, whose namespaces and definitions "bench-…" stay there
  --against-token T      its bearer token (admintoken)
  --creates N            of each sort in a round (500)
  --definitions N        (100)
  --rounds N             (5)
`

const flags = readFlags(usage, {
  against: { type: 'string' },
  'against-token': { type: 'string', default: 'admintoken' },
  creates: { type: 'string', default: '500' },
  definitions: { type: 'string', default: '100' },
  rounds: { type: 'string', default: '5' },
})
const [creates, definitions, rounds] = [flags.creates, flags.definitions, flags.rounds].map(Number)
const connections = 8
const run = `bench-${Date.now().toString(36)}`

const life = { notBeforeMs: Date.now() - 60_000, notAfterMs: Date.now() + 86_400_000 }
const subject = { commonName: 'webhook' }
const authority = issueCertificate({ ...life, subject, use: 'authority' })
const own = issueCertificate({
  ...life,
  subject,
  use: 'server',
  names: ['127.0.0.1'],
  issuer: authority,
})
const webhook = https.createServer(
  { cert: own.certPem, key: own.keyPem },
  async (request, response) => {
    const { apiVersion, kind, request: asked } = JSON.parse((await request.toArray()).join(''))
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ apiVersion, kind, response: { uid: asked.uid, allowed: true } }))
  },
)
await new Promise<void>((resolve) => webhook.listen(0, '127.0.0.1', resolve))
const { port } = webhook.address() as AddressInfo

const asking = `${run}-asking`
const configuration = {
  metadata: { name: run },
  webhooks: [
    {
      name: 'bench.example.com',
      clientConfig: {
        url: `https://127.0.0.1:${port}/`,
        caBundle: Buffer.from(authority.certPem).toString('base64'),
      },
      rules: [
        { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] },
      ],
      namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': asking } },
      sideEffects: 'None',
      admissionReviewVersions: ['v1'],
    },
  ],
}

const definitionsPath = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const definition = (n: number, fields: number) => {
  const names = { plural: `things${n}`, kind: `Thing${n}` }
  const properties = Object.fromEntries(
    Array.from({ length: fields }, (_, i) => [`field${i}`, { type: 'string', description: 'one' }]),
  )
  const schema = { openAPIV3Schema: { type: 'object', properties } }
  const group = `${run}-${n % 10}.example.com`
  const versions = [{ name: 'v1', served: true, storage: true, schema }]
  return {
    metadata: { name: `${names.plural}.${group}` },
    spec: { group, scope: 'Namespaced', names, versions },
  }
}

/** How long after a change of a definition its document may still be the former one, ms. */
const settleMs = 2_000

class Side {
  readonly name: string
  readonly #client: ReturnType<typeof createClient>
  readonly #transport: ReturnType<typeof createTransport>
  readonly times = { plain: [] as number[], asked: [] as number[], document: [] as number[] }
  #made = 0

  constructor({ name, url, token }: Rival) {
    const config = { server: url.origin, token, insecureSkipTlsVerify: true, namespace: '' }
    this.name = name
    this.#client = createClient(config, 'bench')
    this.#transport = createTransport(config)
  }

  async prepare(): Promise<void> {
    for (const name of [run, asking])
      await this.#client.create(resources.namespaces, { metadata: { name } })
    const path = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations'
    await this.#client.request({ method: 'POST', path, body: configuration })
    for (let n = 0; n < definitions!; n++)
      await this.#client.request({ method: 'POST', path: definitionsPath, body: definition(n, 40) })
    await sleep(settleMs)
    await this.#document()
  }

  async round(n: number): Promise<void> {
    this.times.plain.push((await this.#creates(run)) / creates!)
    this.times.asked.push((await this.#creates(asking)) / creates!)
    await this.#client.request({
      method: 'POST',
      path: definitionsPath,
      body: definition(definitions! + n, 40),
    })
    await sleep(settleMs)
    this.times.document.push(await this.#document())
  }

  async #creates(namespace: string): Promise<number> {
    const began = performance.now()
    let left = creates!
    const some = async (): Promise<void> => {
      while (left-- > 0)
        await this.#client.create(resources.configMaps, {
          metadata: { name: `map-${this.#made++}`, namespace },
        })
    }
    await Promise.all(Array.from({ length: connections }, some))
    return performance.now() - began
  }

  async #document(): Promise<number> {
    const began = performance.now()
    const answer = await this.#transport.send({ method: 'GET', path: '/openapi/v2' })
    await finished(answer.resume())
    return performance.now() - began
  }

  close(): void {
    this.#client.close()
    this.#transport.close()
  }
}

const { rival } = await startOurs()
const others =
  flags.against === undefined
    ? []
    : [running('against', { url: flags.against, token: flags['against-token'] })]
const sides = [rival, ...others].map((one) => new Side(one))
for (const side of sides) await side.prepare()
for (let n = 0; n < rounds!; n++) for (const side of sides) await side.round(n)
const medianOf = (times: number[]): number => times.sort((a, b) => a - b)[times.length >> 1]!
for (const { name, times } of sides) {
  const [plain, asked, document] = [times.plain, times.asked, times.document].map(medianOf)
  process.stdout.write(
    `${name.padEnd(10)} a create ${plain!.toFixed(2)} ms, with a webhook ${asked!.toFixed(2)} ms ` +
      `(${connections} at once); /openapi/v2 after a change among ${definitions} definitions ${document!.toFixed(0)} ms\n`,
  )
}
for (const side of sides) side.close()
for (const one of [rival, ...others]) await one.stop()
webhook.closeAllConnections()
webhook.close()
