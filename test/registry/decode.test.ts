import t from 'tap'
import { ApiError } from '#api/errors.js'
import { givenEmpty } from '#json/given-empty.js'
import { parseWithTrace, stringify } from '#json/json.js'
import type { JsonObject } from '#json/value.js'
import { kinds } from '#kinds/index.js'
import { copyUnstructured } from '#registry/decode/custom-object.js'
import { asStored, type Decoded, decodeMade, decodeObject } from '#registry/decode.js'
import type { ResourceDefinition } from '#registry/resource-definition.js'
import { makeResourceTable } from '#registry/resource-table.js'

const table = makeResourceTable(kinds)

const decode = (group: string, kind: string, text: string): Decoded => {
  const { value, trace } = parseWithTrace(text)
  return decodeObject(table.byKind({ group, version: 'v1', kind })!, value, trace)
}
const messageOf = (group: string, kind: string, text: string): string => {
  try {
    decode(group, kind, text)
  } catch (error) {
    if (error instanceof ApiError && error.code === 400) return error.message
    throw error
  }
  return 'accepted'
}

t.test('a time is refused for the first thing that Go finds wrong in it', (t) => {
  const layout = '2006-01-02T15:04:05.000000Z07:00'
  const cannot = (time: string, rest: string, element: string) =>
    `parsing time "${time}" as "${layout}": cannot parse "${rest}" as "${element}"`
  const outOfRange = (time: string, name: string) => `parsing time "${time}": ${name} out of range`
  for (const [time, problem] of [
    ['2024-13/01T00:00:00.000000Z', (it: string) => outOfRange(it, 'month')],
    ['2024-01-01T24:00:00Z', (it: string) => outOfRange(it, 'hour')],
    ['2024-01-01T00:00:60Z', (it: string) => outOfRange(it, 'second')],
    ['2024-01-01T00:00:00Z', (it: string) => cannot(it, 'Z', '.000000')],
    ['2024-02-30T00:00:00.000000+01:61', (it: string) => outOfRange(it, 'time zone offset minute')],
    ['2024-02-30T00:00:00.000000*01:00', (it: string) => cannot(it, '*01:00', 'Z07:00')],
    ['2024-02-30T00:00:00.000000Zx', (it: string) => `parsing time "${it}": extra text: "x"`],
    ['2024-02-30T00:00:00.000000Z', (it: string) => outOfRange(it, 'day')],
  ] as const)
    t.equal(
      messageOf('coordination.k8s.io', 'Lease', JSON.stringify({ spec: { renewTime: time } })),
      `Lease in version "v1" cannot be handled as a Lease: ${problem(time)}`,
    )
  for (const time of ['2024-01-01T00:00:00,000000Z', '2024-01-01T00:00:00.000000+24:60'])
    t.equal(
      messageOf('coordination.k8s.io', 'Lease', JSON.stringify({ spec: { renewTime: time } })),
      'accepted',
    )
  t.end()
})

t.test("Go's zero time is none, however it is written", (t) => {
  const { object: lease } = decode(
    'coordination.k8s.io',
    'Lease',
    '{"spec":{"acquireTime":"0001-01-01T05:00:00.000000+05:00","renewTime":"0001-01-01T00:00:00.500000Z"}}',
  )
  t.same(lease.spec, { acquireTime: null, renewTime: '0001-01-01T00:00:00.500000Z' })
  const times =
    '{"creationTimestamp":"0001-01-01T00:00:00Z","deletionTimestamp":"0001-01-01T00:00:00Z"}'
  const { object: template } = decode('', 'PodTemplate', `{"template":{"metadata":${times}}}`)
  t.same(template.template.metadata, { deletionTimestamp: null })
  const { object: event } = decode('', 'Event', '{"firstTimestamp":"0000-12-31T23:00:00-01:00"}')
  t.equal(event.firstTimestamp, null)
  t.end()
})

t.test('a value of a wrong type is refused in the words of Go, at its Go field', async (t) => {
  const container = (json: string) => `{"spec":{"containers":[${json}]}}`
  for (const [text, message] of [
    [
      '{"metadata":"a"}',
      'json: cannot unmarshal string into Go struct field Pod.metadata of type v1.ObjectMeta',
    ],
    [
      '{"metadata":{"creationTimestamp":5}}',
      'json: cannot unmarshal number into Go struct field ObjectMeta.metadata.creationTimestamp of type string',
    ],
    [
      '{"metadata":{"creationTimestamp":"2020-02-30T00:00:00Z"}}',
      'parsing time "2020-02-30T00:00:00Z": day out of range',
    ],
    [
      '{"metadata":{"creationTimestamp":"é\\n\\""}}',
      String.raw`parsing time "\xc3\xa9\x0a\"" as "2006-01-02T15:04:05Z07:00": cannot parse "\xc3\xa9\x0a\"" as "2006"`,
    ],
    [
      '{"metadata":{"creationTimestamp":"2020-02-10T00:00:00"}}',
      'parsing time "2020-02-10T00:00:00" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "Z07:00"',
    ],
    [
      '{"spec":{"activeDeadlineSeconds":1e2}}',
      'json: cannot unmarshal number 1e2 into Go struct field PodSpec.spec.activeDeadlineSeconds of type int64',
    ],
    [
      container('{"ports":[{"containerPort":3000000000}]}'),
      'json: cannot unmarshal number 3000000000 into Go struct field ContainerPort.spec.containers.ports.containerPort of type int32',
    ],
    [
      container('{"livenessProbe":{"httpGet":{"port":true}}}'),
      'json: cannot unmarshal bool into Go struct field HTTPGetAction.spec.containers.livenessProbe.ProbeHandler.httpGet.port of type int32',
    ],
    [
      container('{"resources":{"limits":[]}}'),
      'json: cannot unmarshal array into Go struct field ResourceRequirements.spec.containers.resources.limits of type v1.ResourceList',
    ],
    [container('{"resources":{"limits":{"cpu":"1Kii"}}}'), "unable to parse quantity's suffix"],
    [
      container('"x"'),
      'json: cannot unmarshal string into Go struct field PodSpec.spec.containers of type v1.Container',
    ],
  ] as const)
    t.equal(
      messageOf('', 'Pod', text),
      `Pod in version "v1" cannot be handled as a Pod: ${message}`,
    )
  for (const [data, byte] of [
    ['x', 0],
    ['abc$', 3],
    ['eA', 0],
    ['eA=', 3],
    ['eA===', 4],
    ['ab=c', 2],
    ['a\\nb\\tc', 3],
    ['eA=\\n=\\n=', 6],
    ['eHh4\\neA', 5],
  ] as const)
    t.match(
      messageOf('', 'Secret', `{"data":{"a":"${data}"}}`),
      `illegal base64 data at input byte ${byte}`,
    )
})

t.test('what a part of a schema holds is refused where it is, and not read strictly', async (t) => {
  const [group, kind] = ['apiextensions.k8s.io', 'CustomResourceDefinition'] as const
  const definition = (properties: string) =>
    `{"spec":{"versions":[{"schema":{"openAPIV3Schema":{"properties":${properties}}}}]}}`
  const told = (properties: string) => messageOf(group, kind, definition(properties))
  const words = (what: string, where: string, type: string) =>
    `CustomResourceDefinition in version "v1" cannot be handled as a CustomResourceDefinition: json: cannot unmarshal ${what} into Go struct field JSONSchemaProps.spec.versions.schema.openAPIV3Schema.properties.${where} of type ${type}`
  const schema = 'v1.JSONSchemaProps'
  for (const [properties, message] of [
    ['{"a":{"items":{"type":5}}}', words('number', 'items.type', 'string')],
    ['{"a":{"items":{"properties":{"b":"x"}}}}', words('string', 'items.properties', schema)],
    ['{"a":{"items":[{},"x"]}}', words('string', 'items', schema)],
    ['{"a":{"dependencies":{"b":[1]}}}', words('number', 'dependencies', 'string')],
    [
      '{"z":{"type":5},"a":{"additionalProperties":{"anyOf":[true]}}}',
      words('bool', 'additionalProperties.anyOf', schema),
    ],
  ] as const)
    t.equal(told(properties), message, properties)
  const { strictErrors } = decode(group, kind, definition('{"a":{"items":{"b":1,"c":1,"c":2}}}'))
  t.strictSame(strictErrors, [])
})

t.test('what a kind within another is says the struct that says so', async (t) => {
  t.equal(
    messageOf('apps', 'StatefulSet', '{"spec":{"volumeClaimTemplates":[{"kind":5}]}}'),
    'StatefulSet in version "v1" cannot be handled as a StatefulSet: json: cannot unmarshal number into Go struct field PersistentVolumeClaim.spec.volumeClaimTemplates.TypeMeta.kind of type string',
  )
})

t.test(
  'what a type of its own refuses ends the decoding, what was wrong before is noted only',
  async (t) => {
    const pod = (...fields: string[]) => messageOf('', 'Pod', `{${fields.join(',')}}`)
    const [wrong, alsoWrong] = ['"spec":{"priority":1.5}', '"status":{"phase":1}']
    t.match(pod(wrong, alsoWrong), /spec.priority of type int32$/)
    t.match(pod(wrong, alsoWrong, '"metadata":{"creationTimestamp":"x"}'), /: parsing time "x"/)
    const port = '{"livenessProbe":{"tcpSocket":{"port":true}}}'
    t.match(pod(alsoWrong, `"spec":{"containers":[${port}]}`), /tcpSocket.port of type int32$/)
  },
)

t.test('bytes may be a list of numbers, each of which fits', async (t) => {
  const dataOf = (text: string) => decode('', 'Secret', `{"data":{"a":${text}}}`).object.data
  t.same(dataOf('[1,2,null,255]'), { a: 'AQIA/w==' })
  t.match(dataOf('[]'), { a: '' })
  for (const [list, given] of [
    ['[1,256]', 'number 256'],
    ['[1.5]', 'number 1.5'],
    ['["a"]', 'string'],
  ])
    t.match(
      messageOf('', 'Secret', `{"data":{"a":${list}}}`),
      `cannot unmarshal ${given} into Go struct field Secret.data of type uint8`,
    )
})

t.test(
  'of unstructured bodies, too, what a later field of the same name replaces is read',
  async (t) => {
    const { value, trace } = parseWithTrace(
      '{"a":{"b":1,"b":2},"c":[{"d":1,"d":1}],"a":{"e":1,"e":1}}',
    )
    const copy = copyUnstructured(value as JsonObject, trace)
    t.same(copy.duplicates, [
      'duplicate field "a.b"',
      'duplicate field "c[0].d"',
      'duplicate field "a"',
      'duplicate field "a.e"',
    ])
    t.same(copy.value, { a: { e: 1 }, c: [{ d: 1 }] })
  },
)

t.test('of twenty thousand unknown fields under a long name the first are told', (t) => {
  const long = 'k'.repeat(1_000_000)
  const fields = Array.from({ length: 20_000 }, (_, i) => `"u${i}":0`).join()
  const schema = `{"spec":{"versions":[{"schema":{"openAPIV3Schema":{"properties":{"${long}":{${fields}}}}}}]}}`
  const { strictErrors } = decode('apiextensions.k8s.io', 'CustomResourceDefinition', schema)
  t.match(strictErrors[0]!, /k\.u0"$/)
  t.ok(strictErrors.length < 10)
  t.end()
})

t.test(
  'strict validation hears of unknown and repeated fields in the order of the text',
  async (t) => {
    const { object, strictErrors } = decode(
      '',
      'Pod',
      '{"spec":{"foo":1,"containers":[{"image":"a","bar":{},"image":"b"}],"Hostname":"x"},"metadata":{"labels":{"a":"1","a":"2"}},"zoo":null,"\\u0001é\\"":1}',
    )
    t.same(strictErrors, [
      'unknown field "spec.foo"',
      'unknown field "spec.containers[0].bar"',
      'duplicate field "spec.containers[0].image"',
      'unknown field "spec.Hostname"',
      'duplicate field "metadata.labels.a"',
      'unknown field "zoo"',
      'unknown field "\\x01é\\""',
    ])
    t.notMatch(stringify(object), /foo|bar|zoo|Hostname/)
  },
)

t.test('what comes out is what a round trip through the Go type leaves', async (t) => {
  const secret = decode(
    '',
    'Secret',
    '{"metadata":{"name":"a","labels":{},"annotations":{"n":null,"__proto__":"x"},"generation":9007199254740993,"creationTimestamp":"2020-01-01T02:00:00.9+02:00"},"data":{"a":"eB==","n":null},"immutable":null}',
  )
  t.equal(
    stringify(secret.object),
    '{"kind":"Secret","apiVersion":"v1","metadata":{"name":"a","generation":9007199254740993,"creationTimestamp":"2020-01-01T00:00:00Z","annotations":{"__proto__":"x","n":""}},"data":{"a":"eA==","n":""},"type":"Opaque"}',
  )
  const role = decode('rbac.authorization.k8s.io', 'Role', '{"rules":[]}')
  t.same(role.object.rules, [])
  asStored(
    table.byKind({ group: 'rbac.authorization.k8s.io', version: 'v1', kind: 'Role' })!,
    role.object,
  )
  t.same(role.object.rules, null, 'storage forgets that it was there')
  const lease = decode(
    'coordination.k8s.io',
    'Lease',
    '{"spec":{"renewTime":"2020-01-01T00:00:00.123456+02:00"}}',
  )
  t.same(lease.object.spec, { renewTime: '2019-12-31T22:00:00.123456Z' })
  t.same(decode('', 'ConfigMap', 'null').object, {
    kind: 'ConfigMap',
    apiVersion: 'v1',
    metadata: {},
  })
})

t.test(
  'an empty list of scaling policies is one, where defaults would fill in for none',
  async (t) => {
    const rules = (json: string) => {
      const table = makeResourceTable(kinds)
      const definition = table.byKind({
        group: 'autoscaling',
        version: 'v2',
        kind: 'HorizontalPodAutoscaler',
      })!
      const { object } = decodeObject(
        definition,
        parseWithTrace(`{"spec":{"behavior":{"scaleUp":${json}}}}`).value,
      )
      return (
        object.spec.behavior.scaleUp.policies ??
        givenEmpty(object.spec.behavior.scaleUp, 'policies')
      )
    }
    t.same(rules('{"policies":[]}'), [])
    t.equal(rules('{"policies":null}').length, 2)
    t.equal(rules('{}').length, 2)
  },
)

t.test('a quantity that is a number is read as it is written', async (t) => {
  // As JSON: how a quantity was given is noted beside it.
  const limits = (json: string) =>
    JSON.parse(
      JSON.stringify(
        decode('', 'Pod', `{"spec":{"containers":[{"name":"c","resources":{"limits":${json}}}]}}`)
          .object.spec.containers[0].resources.limits,
      ),
    )
  t.same(limits('{"cpu":1e0,"memory":1E2,"a":1.0,"b":9007199254740993.0,"c":0.5}'), {
    a: '1',
    b: '9007199254740993',
    c: '500m',
    cpu: '1e0',
    memory: '100',
  })
})

t.test('a key that comes more than once is read into what is there already', async (t) => {
  const pod = decode(
    '',
    'Pod',
    `{"metadata":{"name":"a","labels":{"a":"1","b":"2"},"labels":{"b":"3"}},"spec":{
      "securityContext":{"runAsUser":1},"securityContext":{"runAsGroup":2},
      "dnsConfig":{"searches":["x"]},"dnsConfig":null,
      "hostname":"h","hostname":null,
      "containers":[{"name":"c","image":"i"},{"name":"d"}],"containers":[{"image":"z"}]}}`,
  )
  const { metadata, spec } = pod.object
  t.same(metadata.labels, { a: '1', b: '3' })
  t.same(spec.securityContext, { runAsUser: 1, runAsGroup: 2 })
  t.notOk('dnsConfig' in spec)
  t.equal(spec.hostname, 'h')
  t.match(spec.containers, [{ name: 'c', image: 'z' }])
  t.equal(spec.containers.length, 1)
  t.equal(pod.strictErrors.length, 5)
  const port = (given: string) =>
    decode('', 'Service', `{"spec":{"ports":[{"port":1,${given}}]}}`).object.spec.ports[0]
  t.equal(port('"targetPort":2,"targetPort":null').targetPort, 2)
  t.equal(port('"targetPort":"a","targetPort":null').targetPort, 1, 'which is its default')
  const rollout = '{"maxSurge":3,"maxSurge":null}'
  const { object } = decode(
    'apps',
    'Deployment',
    `{"spec":{"strategy":{"rollingUpdate":${rollout}}}}`,
  )
  t.notSame(object.spec.strategy.rollingUpdate.maxSurge, 3, 'a pointer goes')
  const revision = decode('apps', 'ControllerRevision', '{"data":{"a":1},"data":null,"revision":1}')
  t.same(revision.object.data, { a: 1 })
})

t.test(
  'what a webhook makes of the metadata of a custom resource has only the fields that there are',
  async (t) => {
    const gvk = { group: 'x.io', version: 'v1', kind: 'A' }
    const made =
      '{"metadata":{"name":"a","labels":5,"odd":{},"__proto__":{},"__defineGetter__":{}}}'
    const { object } = decodeMade({ gvk } as ResourceDefinition, parseWithTrace(made).value)
    t.same(object.metadata, { name: 'a' })
  },
)

t.test(
  'of a key that comes again the last number counts as it is written, and each is looked at',
  (t) => {
    const hard = (text: string) =>
      decode('', 'ResourceQuota', `{"spec":{"hard":{${text}}}}`).object.spec.hard
    t.equal(hard('"cpu":9223372036854775808,"cpu":1.5').cpu, '1500m')
    t.equal(hard('"cpu":1.0,"cpu":"2"').cpu, '2')
    t.equal(hard('"cpu":1.5,"cpu":1e3').cpu, '1e3')
    const scaled = (numbers: string[]) =>
      messageOf('apps', 'Deployment', `{"spec":{${numbers.map((n) => `"replicas":${n}`).join()}}}`)
    const refused = (number: string) =>
      `Deployment in version "v1" cannot be handled as a Deployment: json: cannot unmarshal number ${number} into Go struct field DeploymentSpec.spec.replicas of type int32`
    t.equal(scaled(['1.0', '2']), refused('1.0'))
    t.equal(scaled(['1', '2.0']), refused('2.0'))
    t.equal(scaled(['1', '2', '3e0', '4']), refused('3e0'))
    t.equal(scaled(['1', '2']), 'accepted')
    t.end()
  },
)

t.test('a map of very many entries is read once, also where its key comes again', (t) => {
  const many = (value: string) => Array.from({ length: 50_000 }, (_, i) => `"k${i}":${value}`)
  const quota = decode('', 'ResourceQuota', `{"spec":{"hard":{${many('"0.50"').join()}}}}`).object
  t.equal(quota.spec.hard.k49999, '500m')
  t.equal(givenEmpty(quota.spec.hard, 'k0'), '0.50')
  t.equal(givenEmpty(quota.spec.hard, 'k49999'), '0.50')
  const again = (field: string, part: string) => `,"${field}":${part}`.repeat(50_000)
  const labels = `{"metadata":{"labels":{${many('"0"').join()}}${again('labels', '{}')}}}`
  const { object, strictErrors } = decode('', 'ConfigMap', labels)
  t.equal(object.metadata.labels?.k49999, '0')
  t.same(strictErrors, ['duplicate field "metadata.labels"'])
  const text = `{"spec":{"hard":{${many('1e3').join()}}${again('hard', '{"k1":2e3}')}}}`
  const { hard } = decode('', 'ResourceQuota', text).object.spec
  t.same([hard.k0, hard.k1, hard.k49999], ['1e3', '2e3', '1e3'])
  t.end()
})
