/** Which paths there are, beside those of plain requests: what Go's router makes of names that look like something else. */
import t from 'tap'
import { startApiServer } from './api-server.js'

t.test('a namespace may be named like the old verb of watches', async (t) => {
  const { api } = await startApiServer(t)
  const configMaps = '/api/v1/namespaces/watch/configmaps'
  await api.send('POST', configMaps, { body: { metadata: { name: 'a' } } })
  await api.send('POST', '/api/v1/namespaces/other/configmaps', {
    body: { metadata: { name: 'b' } },
  })
  const initial = 'sendInitialEvents=true&resourceVersionMatch=NotOlderThan'
  const watch = await api.watch(`${configMaps}?watch=true&${initial}&allowWatchBookmarks=true`)
  const seen = await watch.take(2)
  watch.close()
  t.same(
    seen.map(({ type, object }) => `${type} ${object.metadata.name ?? ''}`),
    ['ADDED a', 'BOOKMARK '],
  )
})

t.test('an empty segment is a parameter that is missing, where there is one', async (t) => {
  const { api } = await startApiServer(t)
  await api.send('POST', '/api/v1/namespaces/x/configmaps', { body: { metadata: { name: 'a' } } })
  t.equal((await api.get('/api/v1/namespaces//configmaps')).body.items.length, 1)
  const made = await api.send('POST', '/api/v1/namespaces//configmaps', {
    body: { metadata: { name: 'b' } },
  })
  t.match(made.body, { code: 422, message: /metadata\.namespace: Required value/ })
  const answers: [string, string, number, string][] = [
    ['GET', '/api/v1/namespaces//configmaps/a', 400, 'Namespace parameter required.'],
    ['DELETE', '/api/v1/namespaces//configmaps/a', 400, 'Namespace parameter required.'],
    ['POST', '/api/v1/namespaces//configmaps/a', 405, 'the server does not allow this method on'],
    ['GET', '/api/v1/nodes//status', 400, 'name must be provided'],
    ['GET', '/api/v1//configmaps', 404, 'the server could not find the requested resource'],
    ['GET', '/api/v1/namespaces/x//configmaps', 404, 'the server could not find the requested'],
    ['GET', '/api/v1/namespaces/x/pods/a//status', 404, 'the server could not find the requested'],
  ]
  for (const [method, path, code, message] of answers) {
    const { body } = await api.send(method, path)
    t.equal(body.code, code, `${method} ${path}`)
    t.ok(body.message.startsWith(message), body.message)
  }
})

t.test('a method that there is no route for is refused as any other', async (t) => {
  const { api } = await startApiServer(t)
  for (const method of ['TRACE', 'PROPFIND']) {
    const refuse = async (path: string) => (await api.send(method, path)).body
    t.match(await refuse('/api/v1/namespaces/x/pods/a'), { code: 405, reason: 'MethodNotAllowed' })
    t.match(await refuse('/api/v1/nothing'), { code: 404, reason: 'NotFound', details: {} })
    t.match(await refuse('/api/v1/namespaces/x/pods/a/nope'), { code: 404, reason: 'NotFound' })
  }
})
