import t from 'tap'
import { call, startServer } from '../server/start-server.js'

t.test('a limit that came later does not hold up the end of a claim', async (t) => {
  const server = await startServer(t)
  const at = '/api/v1/namespaces/default'
  const send = (method: string, path: string, body?: object) =>
    call(server, {
      ...{ method, path: `${at}/${path}`, body },
      ...(method === 'PATCH' && { headers: { 'content-type': 'application/merge-patch+json' } }),
    })
  const resources = { requests: { storage: '10Gi' } }
  const spec = { accessModes: ['ReadWriteOnce'], storageClassName: '', resources }
  await send('POST', 'persistentvolumeclaims', { metadata: { name: 'c' }, spec })
  const limits = [{ type: 'PersistentVolumeClaim', max: { storage: '1Gi' } }]
  await send('POST', 'limitranges', { metadata: { name: 'l' }, spec: { limits } })
  const path = 'persistentvolumeclaims/c'
  t.match((await send('PATCH', path, { metadata: { labels: { a: 'b' } } })).body, {
    code: 403,
    message: /maximum storage usage per PersistentVolumeClaim is 1Gi, but request is 10Gi/,
  })
  await send('DELETE', path)
  t.equal((await send('PATCH', path, { metadata: { finalizers: null } })).status, 200)
  t.equal((await send('GET', path)).status, 404)
})
