/** What a Pod answers, as it is shown through the server. Upstream: apimachinery, pkg/util/proxy. */
import http from 'node:http'
import { gunzipSync, gzipSync } from 'node:zlib'
import t from 'tap'
import { machineAddress } from '#net/machine-address.js'
import { listen } from '../listen.js'
import { call, startServer } from './start-server.js'

const address = machineAddress()
const skip = address.startsWith('127.') && 'this machine has no address but its own'
const html = (links: (path: string) => string) =>
  `<!-- <a href="/in-a-comment"> --><a title="<a href='/in-a-title'>" href="${links('/a?b=1&amp;c')}">x</a><script>'<a href="/in-a-script">'</script><img src="${links('/i.png')}"/><a href="relative"><constructor title="x">`
/** Lines end as on Windows, and é is one byte, which is no UTF-8. */
const long = (links: (path: string) => string) => `<p>\r\né\r\n${html(links)}</p>`.repeat(500)

t.test('pages and redirects of a Pod lead through the proxy', { skip }, async (t) => {
  const seen: http.IncomingHttpHeaders[] = []
  const pod = http.createServer((request, response) => {
    seen.push(request.headers)
    const page = html((path) => path)
    const answers: Record<string, () => void> = {
      '/': () => response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(page),
      '/packed': () =>
        response
          .writeHead(200, { 'content-type': 'text/html', 'content-encoding': 'gzip' })
          .end(gzipSync(page)),
      '/long': () => {
        response.writeHead(200, { 'content-type': 'text/html; charset=latin1' })
        // As it comes over a network: in pieces that end anywhere.
        const bytes = Buffer.from(
          long((path) => path),
          'latin1',
        )
        for (let at = 0; at < bytes.length; at += 997) response.write(bytes.subarray(at, at + 997))
        response.end()
      },
      '/broken': () =>
        response
          .writeHead(200, { 'content-type': 'text/html', 'content-encoding': 'gzip' })
          .end('this is not gzip'),
      // A tag that does not end.
      '/endless': () => {
        response.writeHead(200, { 'content-type': 'text/html' })
        const more = (): void => {
          while (response.write('a'.repeat(65_536)));
        }
        response.on('drain', more)
        response.write('<p><a href="')
        more()
      },
      '/text': () => response.writeHead(200, { 'content-type': 'text/plain' }).end(page),
      '/moved': () => response.writeHead(302, { location: '/there' }).end(),
      '/elsewhere': () => response.writeHead(302, { location: 'https://example.com/' }).end(),
    }
    response.setHeader('access-control-allow-origin', '*')
    answers[request.url!.split('?')[0]!]!()
  })
  const port = await listen(t, pod, address)
  const server = await startServer(t, { disableAdmissionPlugins: ['ServiceAccount'] })
  // Named as what the path goes on with.
  const pods = '/api/v1/namespaces/proxy/pods'
  const write = (method: string, path: string, body: object, type?: string) =>
    call(server, { method, path, body, ...(type ? { headers: { 'content-type': type } } : {}) })
  await write('POST', '/api/v1/namespaces', { metadata: { name: 'proxy' } })
  const spec = { containers: [{ name: 'c', image: 'i' }] }
  await write('POST', pods, { metadata: { name: 'p' }, spec })
  const status = { podIP: address, podIPs: [{ ip: address }] }
  await write('PATCH', `${pods}/p/status`, { status }, 'application/merge-patch+json')
  const prefix = `${pods}/p:${port}/proxy`
  const get = (path: string) => call(server, { path: `${prefix}${path}` })
  const wanted = html((path) => `${prefix}${path}`)
  const page = await get('/?q')
  t.equal(page.text, wanted)
  t.equal(page.headers['access-control-allow-origin'], undefined)
  t.equal(seen[0]!['x-forwarded-uri'], `${prefix}/`)
  t.equal(gunzipSync((await get('/packed')).bytes).toString(), wanted)
  const whole = (await get('/long')).bytes.toString('latin1')
  t.ok(whole === long((path) => `${prefix}${path}`), 'all of a long page')
  t.equal((await get('/broken')).status, 500)
  await t.rejects(get('/endless'), 'it breaks off')
  t.equal(
    (await get('/text')).text,
    html((path) => path),
  )
  t.equal((await get('/moved')).headers.location, `${prefix}/there`)
  t.equal((await get('/elsewhere')).headers.location, 'https://example.com/')
  t.match(await get('?q'), { status: 301, headers: { location: `${prefix}/?q` } })
  const closed = await call(server, { path: `${pods}/p:1/proxy/` })
  t.match(closed.body, {
    code: 503,
    reason: 'ServiceUnavailable',
    message: `error trying to reach service: dial tcp ${address}:1: connect: connection refused`,
  })
})
