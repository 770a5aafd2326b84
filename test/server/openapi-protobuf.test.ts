/** The protobuf forms of the OpenAPI documents: what kubectl merges lists with, the same as the JSON forms. */
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { gunzipSync } from 'node:zlib'
import t from 'tap'
import { parse } from 'yaml'
import type { JsonObject } from '#json/value.js'
import { formatYaml } from '#json/yaml.js'
import { encodeOpenApiV2 } from '#openapi/openapi-v2-protobuf.js'
import { encodeOpenApiV3 } from '#openapi/openapi-v3-protobuf.js'
import { MessageReader } from '#registry/decode/protobuf-reader.js'
import { kubectlMissing } from '../kubectl/process-tree.js'
import { call, startServer } from './start-server.js'

const mediaType = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf'
const formerMediaType = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf'

function* partsOf(bytes: Buffer): Generator<[number: number, content: Buffer]> {
  const reader = new MessageReader(bytes, '')
  for (let number = reader.next(); number !== 0; number = reader.next()) {
    reader.expect(2, String(number))
    yield [number, reader.bytes()]
  }
}
const fieldsOf = (bytes: Buffer, number: number): Buffer[] =>
  [...partsOf(bytes)].filter(([own]) => own === number).map(([, content]) => content)
const namesIn = (bytes: Buffer): [string, Buffer][] =>
  [...partsOf(bytes)].map(([, entry]) => [
    String(fieldsOf(entry, 1)[0]),
    fieldsOf(entry, 2)[0] ?? Buffer.alloc(0),
  ])
const yamlOf = (any: Buffer): unknown => parse(String(fieldsOf(any, 2)[0]))

/** The members of openapi.v2.Schema that the documents have, by field number. */
const schemaOf = (bytes: Buffer): object => {
  const schema: Record<string, unknown> = {}
  const list = (name: string, value: unknown) => {
    schema[name] = [...((schema[name] as unknown[]) ?? []), value]
  }
  for (const [number, content] of partsOf(bytes)) {
    if (number === 1) schema.$ref = String(content)
    else if (number === 2) schema.format = String(content)
    else if (number === 4) schema.description = String(content)
    else if (number === 19) list('required', String(content))
    else if (number === 20) list('enum', yamlOf(content))
    else if (number === 21) schema.additionalProperties = schemaOf(fieldsOf(content, 1)[0]!)
    else if (number === 22) schema.type = String(fieldsOf(content, 1)[0])
    else if (number === 23) schema.items = schemaOf(fieldsOf(content, 1)[0]!)
    else if (number === 25)
      schema.properties = Object.fromEntries(
        namesIn(content).map(([name, property]) => [name, schemaOf(property)]),
      )
    else if (number === 31)
      schema[String(fieldsOf(content, 1)[0])] = yamlOf(fieldsOf(content, 2)[0]!)
    else throw new Error(`no field ${number}`)
  }
  return schema
}

t.test('both forms of the OpenAPI 2 document hold the same definitions and paths', async (t) => {
  const server = await startServer(t)
  const ask = (accept: string, headers: Record<string, string> = {}) =>
    call(server, { path: '/openapi/v2', headers: { accept, ...headers } })
  const json = await ask('*/*')
  t.equal(json.headers['content-type'], 'application/json')
  const answer = await ask(`application/json;q=0.5,${formerMediaType}`)
  t.equal(answer.headers['content-type'], mediaType)
  t.equal(answer.headers.etag, json.headers.etag)

  const paths = namesIn(fieldsOf(answer.bytes, 8)[0]!).map(([name]) => name)
  t.strictSame(paths, Object.keys(json.body.paths))
  const definitions = namesIn(fieldsOf(answer.bytes, 9)[0]!)
  t.strictSame(
    definitions.map(([name]) => name),
    Object.keys(json.body.definitions),
  )
  for (const [name, bytes] of definitions)
    t.strictSame(schemaOf(bytes), json.body.definitions[name], name)
  const limits = json.body.definitions['io.k8s.api.core.v1.LimitRangeItem'].properties
  t.ok(limits.default, 'a property may have the name of a keyword')

  const packed = await ask(mediaType, { 'accept-encoding': 'gzip' })
  t.ok(gunzipSync(packed.bytes).equals(answer.bytes))
  t.equal((await ask(mediaType, { 'if-none-match': String(answer.headers.etag) })).status, 304)
  t.equal((await ask('text/plain')).status, 406)
})

t.test('operations, parameters and constraints have the bytes that gnostic gives them', (t) => {
  const get = (operation: JsonObject): JsonObject => ({ paths: { '/v': { get: operation } } })
  const parameter = (value: JsonObject) => get({ parameters: [value] })
  const cases: [string, JsonObject, string][] = [
    [
      'what is false is not sent',
      parameter({ in: 'query', name: 'q', type: 'string', required: false, uniqueItems: true }),
      '422712250a022f76121f121d421b0a1912171a15120571756572792201713206737472696e67a00101',
    ],
    [
      'a parameter of the path has other numbers',
      parameter({ in: 'path', name: 'p', type: 'string', required: true, uniqueItems: true }),
      '422812260a022f761220121e421c0a1a1218221608011204706174682201702a06737472696e67980101',
    ],
    [
      'a reference to a parameter',
      parameter({ $ref: '#/p' }),
      '421312110a022f76120b1209420712050a03232f70',
    ],
    [
      'constraints, and a choice that is false',
      { definitions: { D: { maximum: 1.5, minLength: 300, additionalProperties: false } } },
      '4a180a160a0144121139000000000000f83f60ac02aa01021000',
    ],
    [
      'answers, extensions, and a requirement without scopes',
      {
        ...get({
          responses: { 200: { description: 'OK', schema: { $ref: '#/d' } } },
          'x-a': 'get',
        }),
        security: [{ B: [] }],
      },
      '423312310a022f76122b12294a180a160a03323030120f0a0d0a024f4b12070a050a03232f64' +
        '6a0d0a03782d61120612046765740a62070a050a01421200',
    ],
    [
      'what the messages have no field for is left out',
      { definitions: { D: { nullable: true, anyOf: [{ type: 'string' }], title: 't' } } },
      '4a0a0a080a014412031a0174',
    ],
  ]
  for (const [what, document, hex] of cases)
    t.equal(encodeOpenApiV2(document, formatYaml).toString('hex'), hex, what)
  t.end()
})

t.test('a document of OpenAPI 3 has a form in protobuf, under the same tag', async (t) => {
  const server = await startServer(t)
  const path = '/openapi/v3/apis/apps/v1'
  const form = 'application/com.github.proto-openapi.spec.v3'
  const json = await call(server, { path })
  for (const accept of [`${form}@v1.0+protobuf`, `${form}.v1.0+protobuf`]) {
    const answer = await call(server, { path, headers: { accept } })
    t.equal(answer.headers['content-type'], `${form}.v1.0+protobuf`)
    t.equal(answer.headers.vary, 'Accept')
    t.equal(answer.headers.etag, json.headers.etag)
    const paths = namesIn(fieldsOf(answer.bytes, 4)[0]!).map(([name]) => name)
    t.strictSame(paths, Object.keys(json.body.paths))
    const schemas = namesIn(fieldsOf(fieldsOf(answer.bytes, 5)[0]!, 1)[0]!)
    t.strictSame(
      schemas.map(([name]) => name),
      Object.keys(json.body.components.schemas),
    )
  }
  const headers = { accept: `${form}@v1.0+protobuf`, 'if-none-match': String(json.headers.etag) }
  t.equal((await call(server, { path, headers })).status, 304)
  t.equal((await call(server, { path, headers: { accept: 'text/plain' } })).status, 406)
})

t.test('what asks for half a media type, or for none, is read as by kube-openapi', async (t) => {
  const server = await startServer(t)
  const ask = (path: string, accept: string) => call(server, { path, headers: { accept } })
  for (const path of ['/openapi/v2', '/openapi/v3/apis/apps/v1'])
    t.match(await ask(path, '*/json'), {
      status: 200,
      headers: { 'content-type': 'application/json' },
    })
  t.match(await ask('/openapi/v3/apis/apps/v1', 'json'), { status: 200, text: '' })
  t.match(await ask('/openapi/v2', 'json'), { status: 406, text: '' })
})

t.test('schemas of OpenAPI 3 have the bytes that gnostic gives them', (t) => {
  const cases: [string, JsonObject, string][] = [
    ['a reference', { $ref: '#/d' }, '12050a03232f64'],
    ['a default of text', { type: 'string', default: 'x' }, '0a0fca0106737472696e678a02031a0178'],
    ['a default that is false', { default: false }, '0a058a02021000'],
    ['a number', { default: 1.5 }, '0a0c8a020909000000000000f83f'],
    ['an object is no default', { default: {} }, '0a038a0200'],
    ['anything else', { additionalProperties: true }, '0a058202021001'],
    ['values by name', { additionalProperties: { $ref: '#/d' } }, '0a0c8202090a0712050a03232f64'],
    ['a list', { items: { $ref: '#/d' } }, '0a0cf201090a0712050a03232f64'],
  ]
  for (const [what, schema, hex] of cases) {
    const bytes = encodeOpenApiV3({ components: { schemas: { D: schema } } }, formatYaml)
    const [[, encoded]] = namesIn(fieldsOf(fieldsOf(bytes, 5)[0]!, 1)[0]!) as [[string, Buffer]]
    t.equal(encoded.toString('hex'), hex, what)
  }
  t.end()
})

t.test('kubectl applies a List, and again', { skip: kubectlMissing }, async (t) => {
  const server = await startServer(t)
  const folder = t.testdir({ config: server.kubeconfig })
  const file = path.join(folder, 'list.json')
  const apply = async (image: string): Promise<string> => {
    const labels = { app: 'web' }
    const template = { metadata: { labels }, spec: { containers: [{ name: 'web', image }] } }
    const items = [
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' }, data: { k: 'v' } },
      {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { name: 'web' },
        spec: { selector: { matchLabels: labels }, template },
      },
    ]
    writeFileSync(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items }))
    const { stdout } = await promisify(execFile)('kubectl', ['apply', '-f', file], {
      env: { ...process.env, KUBECONFIG: path.join(folder, 'config'), HOME: folder },
    })
    return stdout
  }
  t.equal(await apply('nginx:1'), 'configmap/a created\ndeployment.apps/web created\n')
  t.equal(await apply('nginx:1'), 'configmap/a unchanged\ndeployment.apps/web unchanged\n')
  t.equal(await apply('nginx:2'), 'configmap/a unchanged\ndeployment.apps/web configured\n')
})
