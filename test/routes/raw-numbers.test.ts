/** Raw JSON, which upstream hands on as it was written: parameters of devices, data of revisions. */
import t from 'tap'
import { systemClock } from '#api/clock.js'
import type { JsonValue } from '#json/value.js'
import { openMemory } from '#storage/memory/memory-driver.js'
import { startApiServer } from './api-server.js'

const types = {
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  json: 'application/json-patch+json',
} as const

const classes = '/apis/resource.k8s.io/v1/deviceclasses'
const mask = '18446744073709551615'
const parameters = `{"mask":${mask},"rate":1.0,"list":[1e3,-0,{"small":1.50,"none":-0}]}`
const classWith = (given: string) =>
  `{"apiVersion":"resource.k8s.io/v1","kind":"DeviceClass","metadata":{"name":"a"},"spec":{"config":[{"opaque":{"driver":"d.example.com","parameters":${given}}}]}}`

t.test('they keep their digits, through writes elsewhere and a restart', async (t) => {
  const driver = openMemory({ clock: systemClock })
  const { api } = await startApiServer(t, { driver })
  const shown = async (from = api) =>
    /"parameters":(.*?)\}\}\]/.exec((await from.get(`${classes}/a`)).text)?.[1]
  await api.send('POST', classes, { raw: classWith(parameters) })
  t.equal(await shown(), parameters)

  const other = (await startApiServer(t, { driver })).api
  const patch = (type: keyof typeof types, raw: string) =>
    other.send('PATCH', `${classes}/a`, { raw, type: types[type] })
  await patch('merge', '{"metadata":{"labels":{"l":"m"}}}')
  t.equal(await shown(other), parameters, 'decoded anew')

  const path = '/spec/config/0/opaque/parameters'
  const test = (value: string) =>
    patch(
      'json',
      `[{"op":"test","path":"${path}/rate","value":${value}},{"op":"copy","from":"${path}/mask","path":"${path}/two"}]`,
    )
  t.equal((await test('1')).code, 422)
  t.equal((await test('1.0')).code, 200)
  t.match(await shown(other), `"rate":1.0,`)
  t.match(await shown(other), `"two":${mask}`)

  await patch('strategic', '{"metadata":{"labels":{"l":"n"}}}')
  t.match(await shown(other), `"rate":1,`, 'Go’s maps hold their values')
})

t.test(
  'only objects that a patch goes through, compares or brings have their keys in order',
  async (t) => {
    const { api } = await startApiServer(t)
    const path = '/spec/config/0/opaque/parameters'
    const found = async (type: 'merge' | 'json', patch: JsonValue): Promise<string | undefined> => {
      await api.delete(`${classes}/a`)
      await api.send('POST', classes, {
        raw: classWith('{"z":{"y":1.0,"b":2},"m":[{"q":1,"a":2}],"a":null}'),
      })
      const raw = JSON.stringify(patch)
      const { text } = await api.send('PATCH', `${classes}/a`, { raw, type: types[type] })
      return /"parameters":(.*?)\}\}\]/.exec(text)?.[1]
    }
    const opaque = { driver: 'd.example.com', parameters: { z: 1, a: { y: 1, b: null } } }
    t.equal(await found('merge', { spec: { config: [{ opaque }] } }), '{"a":{"y":1},"z":1}')
    const value = { z: 1, a: null }
    t.equal(
      await found('json', [{ op: 'add', path: `${path}/z/n`, value }]),
      '{"a":null,"m":[{"q":1,"a":2}],"z":{"b":2,"n":{"z":1,"a":null},"y":1.0}}',
    )
    t.equal(
      await found('json', [{ op: 'test', path: `${path}/m`, value: [{ a: 2, q: 1 }] }]),
      '{"a":null,"m":[{"a":2,"q":1}],"z":{"y":1.0,"b":2}}',
    )
    t.equal(await found('json', [{ op: 'replace', path, value }]), '{"z":1,"a":null}')
  },
)

t.test('another text is another value: it is stored, counted and refused as such', async (t) => {
  const { api } = await startApiServer(t)
  const put = async (raw: string) => {
    const { body, text } = await api.send('PUT', `${classes}/a`, { raw: classWith(raw) })
    return [body.metadata.generation, /"parameters":(.*?)\}\}\]/.exec(text)?.[1]]
  }
  await api.send('POST', classes, { raw: classWith(`{"a":${mask}}`) })
  const less = '{"a":18446744073709551614}'
  t.same(await put(less), [2, less], 'a double cannot tell them apart')
  t.same(await put(less), [2, less])
  t.same(await put('{"a":1,"b":1.0}'), [3, '{"a":1,"b":1.0}'])
  t.same(await put('{"b":1.0,"a":1}'), [4, '{"b":1.0,"a":1}'])

  const templates = '/apis/resource.k8s.io/v1/namespaces/x/resourceclaimtemplates'
  const config = `[{"opaque":{"driver":"d.example.com","parameters":{"b":1.0,"a":2}}}]`
  const template = `{"metadata":{"name":"a"},"spec":{"spec":{"devices":{"config":${config}}}}}`
  await api.send('POST', templates, { raw: template })
  const label = async (type: keyof typeof types) =>
    (
      await api.send('PATCH', `${templates}/a`, {
        raw: '{"metadata":{"labels":{"l":"m"}}}',
        type: types[type],
      })
    ).code
  t.equal(await label('merge'), 200)
  t.equal(await label('strategic'), 422, 'the spec is immutable, and loses its order in Go’s maps')
})
