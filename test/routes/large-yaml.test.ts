/** A body of YAML may take seconds to read: nobody else waits for it, and it is answered as a small one is. */
import t from 'tap'
import { startApiServer } from './api-server.js'

const configMaps = '/api/v1/namespaces/x/configmaps'
const applied = 'application/apply-patch+yaml'

/** Lines that take the parser seconds and mean nothing. */
const ballast = '# \n'.repeat(400_000)

const manifest = (name: string, data: string): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\n${ballast}data: ${data}\n`

t.test('while it is read, others are answered', async (t) => {
  const { api } = await startApiServer(t)
  const raw = manifest('big', '{a: b}')
  for (const write of [
    () => api.send('POST', configMaps, { raw, type: 'application/yaml' }),
    () => api.send('PATCH', `${configMaps}/big?fieldManager=m`, { raw, type: applied }),
    () => api.send('DELETE', `${configMaps}/none`, { raw, type: 'application/yaml' }),
  ]) {
    let others = 0
    let isRead = false
    const writing = write().finally(() => {
      isRead = true
    })
    while (!isRead) {
      await api.get(configMaps)
      others++
    }
    // Some are answered before the body has come, and with its answer.
    t.ok(others > 20, `${others} others`)
    t.ok((await writing).code < 500)
  }
})

t.test('values, faults and keys that come twice are told as those of a small one', async (t) => {
  const { api } = await startApiServer(t)
  const post = (raw: string) => api.send('POST', configMaps, { raw, type: 'application/yaml' })
  const line = ballast.split('\n').length + 3
  t.match((await post(manifest('a', '{a: b}'))).body, { data: { a: 'b' } })
  t.match((await post(manifest('b', 'b: c'))).body, {
    code: 400,
    message: new RegExp(`yaml: line ${line}: mapping values are not allowed in this context`),
  })
  const twice = await post(manifest('c', '{a: b, a: c}'))
  t.match(twice.body, { data: { a: 'c' } })
  t.equal(twice.headers.warning, `299 - "line ${line}: key \\"a\\" already set in map"`)
  const type = applied
  const patch = (raw: string) => api.send('PATCH', `${configMaps}/d?fieldManager=m`, { raw, type })
  t.match((await patch(manifest('d', 'b: c'))).body, { code: 400, message: /error decoding YAML/ })
  t.match((await patch(manifest('d', '{a: d}'))).body, { data: { a: 'd' } })
})
