/** Numbers and texts of a patch count as they are written: upstream's patch libraries hand on raw JSON. */
import t, { type Test } from 'tap'
import { startApiServer } from './api-server.js'

const types = {
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  json: 'application/json-patch+json',
} as const

const secrets = '/api/v1/namespaces/x/secrets'
const configMaps = '/api/v1/namespaces/x/configmaps'
const autoscalers = '/apis/autoscaling/v1/namespaces/x/horizontalpodautoscalers'
const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' }

const start = async (t: Test) => {
  const { api } = await startApiServer(t)
  await api.post(configMaps, { metadata: { name: 'c' }, data: { lt: 'a<b', ae: 'ä' } })
  await api.post(secrets, { metadata: { name: 's' } })
  await api.post(autoscalers, { metadata: { name: 'h' }, spec: { scaleTargetRef, maxReplicas: 5 } })
  const patch = (type: keyof typeof types, path: string, raw: string, validation = 'Warn') =>
    api.send('PATCH', `${path}?dryRun=All&fieldValidation=${validation}`, {
      raw,
      type: types[type],
    })
  return { api, patch }
}

t.test('a test takes -0 for another number than 0', async (t) => {
  const { api, patch } = await start(t)
  const deployments = '/apis/apps/v1/namespaces/x/deployments'
  const template = {
    metadata: { labels: { a: 'b' } },
    spec: { containers: [{ name: 'c', image: 'i' }] },
  }
  const spec = { replicas: 0, selector: { matchLabels: { a: 'b' } }, template }
  await api.post(deployments, { metadata: { name: 'd' }, spec })
  const tested = async (literal: string) => {
    const operation = `[{"op":"test","path":"/spec/replicas","value":${literal}}]`
    return (await patch('json', `${deployments}/d`, operation)).code
  }
  t.equal(await tested('0'), 200)
  t.equal(await tested('-0'), 422)
  t.equal(await tested('-0.0'), 422)
})

t.test('a text that is written with escapes can be copied', async (t) => {
  const { patch } = await start(t)
  const operations = String.raw`[{"op":"add","path":"/data/ae","value":"\u00e4"},{"op":"copy","from":"/data/ae","path":"/data/b"}]`
  const { code, body } = await patch('json', `${configMaps}/c`, operations)
  t.match([code, body.data], [200, { ae: 'ä', b: 'ä' }])
})

t.test(
  'an apply in JSON is read as YAML, which has no DEL and no half of a character',
  async (t) => {
    const { api } = await start(t)
    const apply = async (text: string) => {
      const raw = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"a":"${text}"}}`
      const type = 'application/apply-patch+yaml'
      const { body } = await api.send('PATCH', `${configMaps}/a?fieldManager=m`, { raw, type })
      return body.data?.a ?? body.message.replace(/^.*: yaml: /, '')
    }
    t.equal(await apply('\u007f'), 'control characters are not allowed')
    t.equal(await apply(String.raw`\ud83d\ude00`), 'found invalid Unicode character escape code')
    t.equal(await apply('😀\u00a0'), '😀\u00a0')
  },
)

t.test('what is written as a float is no integer to the JSON decoder', async (t) => {
  const { patch } = await start(t)
  const bodies = {
    merge: (n: string) => `{"spec":{"maxReplicas":${n}}}`,
    json: (n: string) => `[{"op":"replace","path":"/spec/maxReplicas","value":${n}}]`,
  }
  for (const [type, body] of Object.entries(bodies))
    for (const literal of ['1.0', '1e3', '1E0', '9223372036854775808']) {
      const { code, body: status } = await patch(type as 'merge', `${autoscalers}/h`, body(literal))
      t.equal(code, 422)
      t.match(status.message, `"maxReplicas\\":${literal}`)
      t.match(
        status.message,
        `cannot unmarshal number ${literal} into Go struct field HorizontalPodAutoscalerSpec.spec.maxReplicas of type int32`,
      )
    }
  const whole = await patch('merge', `${autoscalers}/h`, '{"spec":{"maxReplicas":10}}')
  t.equal(whole.body.spec.maxReplicas, 10)
})

t.test('a strategic patch takes whole floats for integers, and no number for a text', async (t) => {
  const { patch } = await start(t)
  const replicas = async (n: string) =>
    (await patch('strategic', `${autoscalers}/h`, `{"spec":{"maxReplicas":${n}}}`)).body
  t.equal((await replicas('1e3')).spec.maxReplicas, 1000)
  t.equal((await replicas('4294967297.0')).spec.maxReplicas, 1, 'its last 32 bits')
  t.match((await replicas('1e30')).message, 'spec.maxReplicas: Required value', 'none of its bits')
  t.match((await replicas('1.5')).message, 'cannot convert float64 to int32')
  const bytes = (text: string) => patch('strategic', `${secrets}/s`, `{"data":{"a":${text}}}`)
  t.equal((await bytes('[300,1,-1,1e30]')).body.data.a, Buffer.of(44, 1, 255, 0).toString('base64'))
  t.match((await bytes('[1.5]')).body.message, 'cannot convert float64 to uint8')
  const data = async (n: string) =>
    (await patch('strategic', `${configMaps}/c`, `{"data":{"a":${n}}}`)).body.message
  t.match(await data('1'), 'map[data:map[a:1]]": cannot convert int64 to string')
  t.match(await data('1.0'), 'map[data:map[a:1]]": unrecognized type: string')
  t.match(await data('2147483648.0'), 'map[a:2.147483648e+09]')
  t.match(await data('0.0000001'), 'map[a:1e-07]')
})

t.test('messages print what a patch brought as it was written', async (t) => {
  const { patch } = await start(t)
  for (const [written, shown] of [
    ['1.50', '1.50'],
    ['["\\u00e4","<"]', '["\\u00e4","\\u003c"]'],
    ['{"x":"\\/"}', '{"x":"\\/"}'],
    ['-0', '-0'],
  ]) {
    const merged = await patch('merge', `${configMaps}/c`, `{"data":{"z":${written}}}`)
    const added = await patch(
      'json',
      `${configMaps}/c`,
      `[{"op":"add","path":"/d\\u0061ta/z","value":${written}}]`,
    )
    const quoted = JSON.stringify(`"z":${shown}`).slice(1, -1)
    for (const { body } of [merged, added]) t.ok(body.message.includes(quoted), body.message)
  }
})

t.test('a JSON patch tests texts byte by byte against what Go’s encoder writes', async (t) => {
  const { patch } = await start(t)
  const test = async (key: string, value: string, first = '') =>
    (
      await patch(
        'json',
        `${configMaps}/c`,
        `[${first}{"op":"test","path":"/data/${key}","value":${value}}]`,
      )
    ).code
  t.equal(await test('ae', '"ä"'), 200)
  t.equal(await test('ae', '"\\u00e4"'), 422)
  t.equal(await test('lt', '"a\\u003cb"'), 200)
  t.equal(await test('lt', '"a<b"'), 422)
  t.equal(await test('lt', '"a<b"', '{"op":"add","path":"/data/lt","value":"a<b"},'), 200)
})

t.test('what is written as no encoder would is stored as what it says', async (t) => {
  const { api } = await start(t)
  const escaped = '[{"op":"test","path":"/data/ae","value":"ä"},{"op":"\\u0061dd","path":"/data"}]'
  const left = await api.send('PATCH', `${configMaps}/c?dryRun=All`, {
    raw: escaped,
    type: types.json,
  })
  t.match(left, { code: 200, body: { data: undefined } })
  const raw =
    '[{"op":"add","path":"/data/z","value":"\\u00e4<\\/"},{"op":"test","path":"/data/ae","value":"ä"}]'
  await api.send('PATCH', `${configMaps}/c`, { raw, type: types.json })
  t.equal((await api.get(`${configMaps}/c`)).body.data.z, 'ä</')
  await api.post('/api/v1/namespaces/x/resourcequotas', { metadata: { name: 'q' } })
  const hard = '{"spec":{"hard":{"requests.cpu":1e3}}}'
  const path = '/api/v1/namespaces/x/resourcequotas/q'
  const quota = await api.send('PATCH', path, { raw: hard, type: types.merge })
  t.equal(quota.body.spec.hard['requests.cpu'], '1e3')
})

t.test('a number beyond a float64 is refused before anything is patched', async (t) => {
  const { patch } = await start(t)
  const found = 'json: cannot unmarshal number 1e400 into Go'
  const merged = await patch('merge', `${configMaps}/c`, '{"a":[1e400]}')
  t.equal(merged.body.message, `error decoding patch: ${found} value of type float64`)
  const strategic = await patch('strategic', `${configMaps}/c`, '{"a":[1e400]}')
  t.equal(strategic.body.message, `${found} value of type float64`)
  const replaced = await patch('merge', `${configMaps}/c`, '{"a":1e400,"a":1}')
  t.equal(replaced.body.message, `error decoding patch: ${found} value of type float64`)
  const json = await patch('json', `${configMaps}/c`, '[{"op":"add","path":"/a","value":1e400}]')
  t.equal(
    json.body.message,
    `error decoding patch: ${found} struct field jsonPatchOp.value of type float64`,
  )
})

t.test('without field validation a patch is not decoded before it is applied', async (t) => {
  const { patch } = await start(t)
  const rejected = 'the server rejected our request due to an error in our request'
  const unmarshal = 'json: cannot unmarshal'
  const noPatch = 'Invalid JSON Patch'
  const cases: [type: 'json' | 'merge', body: string, warned: string, ignored: string][] = [
    ['json', '{', 'unexpected end of JSON input', 'unexpected end of JSON input'],
    [
      ...(['json', '3'] as const),
      `${unmarshal} number into Go value of type []handlers.jsonPatchOp`,
      `${unmarshal} number into Go value of type jsonpatch.Patch`,
    ],
    [
      ...(['json', '[1]'] as const),
      `${unmarshal} number into Go value of type handlers.jsonPatchOp`,
      `${unmarshal} number into Go value of type jsonpatch.Operation`,
    ],
    [
      ...(['json', '[{"op":1e-400,"path":"/a"}]'] as const),
      `${unmarshal} number into Go struct field jsonPatchOp.op of type string`,
      rejected,
    ],
    [
      ...(['json', '[{"op":1,"op":"remove","a":1e400,"path":"/b","value":1e400}]'] as const),
      `${unmarshal} number into Go struct field jsonPatchOp.op of type string`,
      rejected,
    ],
    [
      ...(['json', '[{"a":1e400,"op":"remove","path":"/b","value":[1e400],"from":1}]'] as const),
      `${unmarshal} number 1e400 into Go struct field jsonPatchOp.value of type float64`,
      rejected,
    ],
    [
      ...(['json', '[{"op":1}]'] as const),
      `${unmarshal} number into Go struct field jsonPatchOp.op of type string`,
      rejected,
    ],
    ['merge', '{', 'unexpected end of JSON input', noPatch],
    ['merge', '{} x', "invalid character 'x' after top-level value", noPatch],
    ['merge', '3', `${unmarshal} number into Go value of type map[string]interface {}`, noPatch],
  ]
  const path = `${configMaps}/c`
  for (const [type, body, warned, ignored] of cases) {
    const warn = await patch(type, path, body)
    t.strictSame([warn.code, warn.body.message], [400, `error decoding patch: ${warned}`], body)
    const ignore = await patch(type, path, body, 'Ignore')
    t.equal(ignore.body.message, ignored, body)
  }
  t.equal((await patch('merge', path, '{"bogus":1e400}', 'Ignore')).code, 200)
  const list = await patch('merge', path, '[null,{"a":null}]', 'Ignore')
  t.equal(list.code, 422)
  t.match(
    list.body.message,
    /^ "" is invalid: patch: Invalid value: "\[null,\{\}\]": couldn't get version\/kind; json parse error: json: cannot unmarshal array /,
  )
  const infinite = '[{"op":"add","path":"/data/x","value":1e400}]'
  t.match((await patch('json', path, infinite, 'Ignore')).body, {
    code: 422,
    message: /"x\\":1e400/,
  })
})

t.test(
  'of a strategic patch messages show what is left of it: no nulls in what is new',
  async (t) => {
    const { patch } = await start(t)
    const refused = await patch(
      'strategic',
      `${configMaps}/c`,
      '{"metadata":{"ownerReferences":[{"name":"a","name":null}],"labels":null}}',
      'Strict',
    )
    t.match(
      refused.body.message,
      'map[metadata:map[labels:<nil> ownerReferences:[map[]]]]": strict decoding error: duplicate field "metadata.ownerReferences[0].name"',
    )
  },
)

t.test('what an apply brings beyond an int64 is a float', async (t) => {
  const { api } = await start(t)
  const apply = async (raw: string) =>
    (
      await api.send('PATCH', `${configMaps}/c?fieldManager=m`, {
        raw,
        type: 'application/apply-patch+yaml',
      })
    ).body.message
  const head = 'apiVersion: v1\nkind: ConfigMap\ndata: {a: '
  t.match(await apply(`${head}12345678901234567890}`), 'Value:1.2345678901234567e+19}')
  t.match(await apply(`${head}9223372036854775807}`), 'Value:9223372036854775807}')
})

t.test('strict errors of a JSON patch come in the order of its text, and /v1 is v1', async (t) => {
  const { api, patch } = await start(t)
  const path = '"path":"/data/y","value":"2"'
  const errorsOf = async (raw: string) =>
    /strict decoding error: (.*)$/.exec(
      (await patch('json', `${configMaps}/c`, raw, 'Strict')).body.message,
    )?.[1]
  t.equal(
    await errorsOf(`[{"op":"add","foo":1,${path}},{"op":"add","path":"/data/x",${path}}]`),
    'json patch unknown field "[0].foo", json patch duplicate field "[1].path"',
  )
  t.equal(
    await errorsOf(`[{"op":"add","value":"1",${path},"foo":1,"foo":2,"op":"add"}]`),
    'json patch duplicate field "[0].value", json patch unknown field "[0].foo", json patch duplicate field "[0].op"',
  )
  const slashed = { apiVersion: '/v1', kind: 'ConfigMap', metadata: { name: 'slashed' } }
  t.match(await api.post(configMaps, slashed), { code: 201, body: { apiVersion: 'v1' } })
})

t.test('what a JSON patch copies within the document keeps its order', async (t) => {
  const { patch } = await start(t)
  const copy = '[{"op":"copy","from":"/metadata","path":"/data/m"}]'
  const { code, body } = await patch('json', `${configMaps}/c`, copy)
  t.equal(code, 422)
  t.match(body.message, /"m\\?":\{\\?"name\\?":\\?"c\\?",\\?"namespace\\?":\\?"x\\?",\\?"uid\\?":/)
  const test = '{"op":"test","path":"/metadata/name","value":"c"}'
  const after = await patch('json', `${configMaps}/c`, copy.replace('[', `[${test},`))
  t.match(
    after.body.message,
    /"m\\?":\{\\?"creationTimestamp\\?":/,
    'what it went through is sorted',
  )
})
