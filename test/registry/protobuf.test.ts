import { readFileSync } from 'node:fs'
import t from 'tap'
import type { KubeObject } from '#api/object.js'
import type { StoredObject } from '#cacher/object-storage.js'
import { parse, parseWithTrace, stringify } from '#json/json.js'
import type { JsonObject, JsonValue } from '#json/value.js'
import { groupKinds } from '#kinds/group-kinds.js'
import { kinds } from '#kinds/index.js'
import { packageRoot } from '#program/package-root.js'
import { messageToJson, protobufToJson } from '#registry/decode/protobuf.js'
import { ProtobufError } from '#registry/decode/protobuf-reader.js'
import { decodeObject } from '#registry/decode.js'
import { makeResourceTable } from '#registry/resource-table.js'
import { bytesOf } from '#routes/answers/list-body.js'
import {
  frameInProtobuf,
  inProtobuf,
  objectsInProtobuf,
  partialListInProtobuf,
  storedInProtobuf,
} from '#routes/answers/protobuf.js'

const table = makeResourceTable(kinds)

t.test('the sample of every kind comes back from protobuf as it was', async (t) => {
  for (const kind of groupKinds) {
    const definition = table.byKind(kind)!
    const decode = (value: JsonValue): KubeObject => decodeObject(definition, value).object
    const object = decode(structuredClone(kind.sample))
    const back = decode(protobufToJson(inProtobuf(object), definition.schemaName!))
    t.same(back, object, `${kind.group}/${kind.version} ${kind.kind}`)
  }
})

t.test('what is kept as JSON comes back from protobuf when it is empty, too', (t) => {
  const revision = { apiVersion: 'apps/v1', kind: 'ControllerRevision', metadata: { name: 'a' } }
  for (const data of [{}, '', [], 0, false]) {
    const object = { ...revision, data, revision: 1 } as KubeObject
    const back = protobufToJson(inProtobuf(object), 'io.k8s.api.apps.v1.ControllerRevision')
    t.same(back.data, data, JSON.stringify(data))
  }
  const text = '{"a":1.0,"b":[18446744073709551615]}'
  const { value, trace } = parseWithTrace(`{"metadata":{"name":"a"},"data":${text},"revision":1}`)
  const { object } = decodeObject(
    table.byKind({ group: 'apps', version: 'v1', kind: 'ControllerRevision' })!,
    value,
    trace,
  )
  const back = protobufToJson(inProtobuf(object), 'io.k8s.api.apps.v1.ControllerRevision')
  t.equal(stringify(back.data), text, 'with its numbers as they were written')
  t.end()
})

interface Recorded {
  readonly object: JsonObject
  readonly protobuf: string
}

// Both forms of the same objects, as kube-apiserver v1.36.3 sent them.
const recorded = parse(
  readFileSync(new URL('test/registry/protobuf-recorded.json', packageRoot), 'utf8'),
) as unknown as {
  objects: Recorded[]
  watch: { event: { type: string; object: JsonObject }; protobuf: string }
}

t.test('objects, lists, metadata alone and errors are kube-apiserver’s bytes', async (t) => {
  for (const { object, protobuf } of recorded.objects)
    t.equal(inProtobuf(object).toString('base64'), protobuf, `${object.apiVersion} ${object.kind}`)
})

t.test(
  'a list of what is kept of its items is the list encoded as a whole, for every kind',
  async (t) => {
    const metadata = { resourceVersion: '7', continue: 'on', remainingItemCount: 300 }
    for (const kind of groupKinds) {
      const definition = table.byKind(kind)!
      const { convert } = definition
      const given = decodeObject(definition, structuredClone(kind.sample)).object
      const stored = { object: convert?.toStorage(given) ?? given } as StoredObject
      const object = convert?.fromStorage(stored.object) ?? given
      const { apiVersion } = object
      for (const items of [[], [stored], [stored, stored]]) {
        const list = {
          apiVersion,
          kind: definition.listKind,
          metadata,
          items: items.map(() => object),
        }
        const made = bytesOf(await objectsInProtobuf(definition, metadata, items))
        t.ok(made.equals(inProtobuf(list)), `${items.length} of ${kind.kind}`)
      }
      t.ok(storedInProtobuf(definition, stored).equals(inProtobuf(object)), kind.kind)
    }
  },
)

t.test('a list of metadata is the list encoded as a whole, in both versions', async (t) => {
  const items = [{ metadata: { name: 'a' } }, { metadata: { name: 'b', labels: { c: 'd' } } }]
  const metadata = { resourceVersion: '7', continue: 'on' }
  const stored = items.map((object) => ({ object }) as unknown as StoredObject)
  for (const version of ['v1', 'v1beta1']) {
    const apiVersion = `meta.k8s.io/${version}`
    const partial = { apiVersion, kind: 'PartialObjectMetadata' }
    const list = { apiVersion, kind: 'PartialObjectMetadataList', metadata, items }
    const made = await partialListInProtobuf(
      apiVersion,
      metadata,
      stored,
      ({ object }) => ({ ...partial, ...object }) as KubeObject,
    )
    t.ok(bytesOf(made).equals(inProtobuf(list)), version)
  }
})

t.test('a watch event is kube-apiserver’s frame', async (t) => {
  const { event, protobuf } = recorded.watch
  t.equal(frameInProtobuf(event.type, event.object).toString('base64'), protobuf)
})

t.test('a missing envelope is told from a broken message inside one', async (t) => {
  const read = (text: string) => () =>
    protobufToJson(Buffer.from(text, 'latin1'), 'io.k8s.api.core.v1.ConfigMap')
  t.throws(read(''), new ProtobufError('empty data'))
  t.throws(read('k8s\0'), new ProtobufError('empty body'))
  t.throws(read('k8s\0\x0a'), new ProtobufError('unexpected EOF'))
  const type = '\x0a\x0f\x0a\x02v1\x12\x09ConfigMap'
  const overflow = `k8s\0${type}\x12\x0c${'\xff'.repeat(12)}`
  t.throws(read(overflow), new ProtobufError('proto: integer overflow'))
})

t.test('maps are in the order of their keys’ bytes, and integers keep 64 bits', async (t) => {
  const configMap = (value: JsonObject) =>
    inProtobuf({ apiVersion: 'v1', kind: 'ConfigMap', metadata: {}, ...value })
  t.same(
    configMap({ data: { b: '1', a: '2', '\u{1f600}': '3', '\uffff': '4' } }),
    configMap({ data: { '\uffff': '4', '\u{1f600}': '3', a: '2', b: '1' } }),
  )
  const keys = configMap({ data: { '\u{1f600}': '', '\uffff': '' } }).toString()
  t.ok(keys.indexOf('\uffff') < keys.indexOf('\u{1f600}'))
  for (const generation of [0, -1, 2 ** 40, 2n ** 63n - 1n, -(2n ** 63n)]) {
    const bytes = configMap({ metadata: { generation } })
    const back = protobufToJson(bytes, 'io.k8s.api.core.v1.ConfigMap') as {
      metadata?: { generation?: number | bigint }
    }
    t.equal(BigInt(back.metadata?.generation ?? 0), BigInt(generation))
  }
})

/** One message of a Pod, as hexadecimal digits without its envelope. */
const podOf = (hex: string): JsonObject => {
  const message = Buffer.from(hex.replaceAll(' ', ''), 'hex')
  const name = 'io.k8s.api.core.v1.Pod'
  return messageToJson({ kind: '', apiVersion: '', message }, name)
}

t.test('what is wrong with a message is said in the words of gogo’s generated code', (t) => {
  const cases: readonly (readonly [hex: string, message: string])[] = [
    ['0a', 'unexpected EOF'],
    ['0a 05 0a', 'unexpected EOF'],
    [`0a ${'ff'.repeat(10)}`, 'proto: integer overflow'],
    [`0a ${'ff'.repeat(9)} 01`, 'proto: negative length found during unmarshaling'],
    ['00 00', 'proto: Pod: illegal tag 0 (wire type 0)'],
    ['4c', 'proto: Pod: wiretype end group for non-group'],
    ['08 01', 'proto: wrong wireType = 0 for field ObjectMeta'],
    ['0a 02 08 01', 'proto: wrong wireType = 0 for field Name'],
    ['0a 04 42 02 0a 00', 'proto: wrong wireType = 2 for field Seconds'],
    ['0a 03 42 01 0c', 'proto: Timestamp: wiretype end group for non-group'],
    ['12 04 0a 02 10 01', 'proto: wrong wireType = 0 for field VolumeSource'],
    ['4e', 'proto: illegal wireType 6'],
    ['4b', 'unexpected EOF'],
    ['0a 06 5a 04 0a 01 61 54', 'proto: unexpected end of group'],
  ]
  for (const [hex, message] of cases) t.throws(() => podOf(hex), new ProtobufError(message), hex)
  t.end()
})

t.test('a message is read as gogo’s generated code reads it', (t) => {
  const cases: readonly (readonly [what: string, hex: string, pod: JsonObject])[] = [
    [
      'parts of a message are one',
      '0a 03 0a 01 61  0a 03 1a 01 62',
      { metadata: { name: 'a', namespace: 'b' } },
    ],
    ['the last text counts', '0a 06 0a 01 61 0a 01 62', { metadata: { name: 'b' } }],
    [
      'what is unknown is skipped, a group too',
      '4b 08 01 4c  a0 06 05  0a 03 0a 01 61',
      { metadata: { name: 'a' } },
    ],
    [
      'numbers come packed or one by one',
      '12 09 72 07 22 03 01 ac 02 20 03',
      { spec: { securityContext: { supplementalGroups: [1, 300, 3] } } },
    ],
    ['an int32 keeps 32 bits', '12 07 c8 01 81 80 80 80 30', { spec: { priority: 1 } }],
    [
      'an entry without a value has none',
      '0a 05 5a 03 0a 01 61',
      { metadata: { labels: { a: '' } } },
    ],
  ]
  for (const [what, hex, pod] of cases) t.same(podOf(hex), pod, what)
  t.end()
})

t.test('nanoseconds of more than a second, or of less than none, move the seconds', (t) => {
  const renewed = (time: string) => {
    const message = Buffer.from(time.replaceAll(' ', ''), 'hex')
    const spec = Buffer.concat([Buffer.from([0x22, message.length]), message])
    return messageToJson(
      {
        kind: '',
        apiVersion: '',
        message: Buffer.concat([Buffer.from([0x12, spec.length]), spec]),
      },
      'io.k8s.api.coordination.v1.Lease',
    ).spec
  }
  const at = (time: string) => ({ renewTime: `1970-01-01T00:00:${time}Z` })
  t.same(renewed('08 05 10 80 a8 d6 b9 07'), at('07.000000'))
  t.same(renewed('08 05 10 ff a7 d6 b9 07'), at('06.999999'))
  t.same(renewed('08 05 10 98 f8 ff ff ff ff ff ff ff 01'), at('04.999999'))
  t.same(renewed('08 05 10 ff ff ff ff ff ff ff ff ff 01'), at('05.000000'))
  t.end()
})

t.test('a message as deep as no JSON may be is refused before the stack is full', (t) => {
  const varint = (value: number): number[] =>
    value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varint(value >>> 7)]
  const part = (tag: number[], content: Buffer): Buffer =>
    Buffer.concat([Buffer.from([...tag, ...varint(content.length)]), content])
  const nested = (depth: number, wrap: (inner: Buffer) => Buffer): Buffer => {
    let schema: Buffer = Buffer.alloc(0)
    for (let i = 0; i < depth; i++) schema = wrap(schema)
    return schema
  }
  const read = (schema: Buffer) =>
    messageToJson(
      { kind: '', apiVersion: '', message: schema },
      'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps',
    )
  const not = (inner: Buffer) => part([0xe2, 0x01], inner)
  const allOf = (inner: Buffer) => part([0xca, 0x01], inner)
  const property = (inner: Buffer) => part([0xea, 0x01], part([0x12], inner))
  const tooDeep = new ProtobufError('exceeded max depth')
  t.ok(read(nested(999, not)).not)
  t.throws(() => read(nested(1000, not)), tooDeep)
  t.throws(() => read(nested(100_000, not)), tooDeep)
  for (const wrap of [allOf, property]) {
    t.ok(stringify(read(nested(499, wrap))).length > 499)
    t.throws(() => read(nested(500, wrap)), tooDeep)
  }
  t.end()
})
