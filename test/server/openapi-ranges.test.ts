/** OpenAPI documents are served as Go's http.ServeContent serves them. */
import t from 'tap'
import { call, startServer } from './start-server.js'

t.test('a part of a document is sent to a client that asks for one', async (t) => {
  const server = await startServer(t, { storage: 'memory:' })
  const ask = (headers: Record<string, string>, path = '/openapi/v3/version') =>
    call(server, { path, headers })
  const whole = await ask({})
  t.equal(whole.headers['accept-ranges'], 'bytes')
  const size = whole.bytes.length
  const cases: [range: string, from: number, to: number][] = [
    ['bytes=0-9', 0, 9],
    ['bytes=-5', size - 5, size - 1],
    [`bytes=7-${size * 2}`, 7, size - 1],
    ['bytes=99999999-,3-3', 3, 3],
  ]
  for (const [range, from, to] of cases) {
    const part = await ask({ range, 'accept-encoding': 'gzip' })
    t.equal(part.status, 206, range)
    t.equal(part.headers['content-range'], `bytes ${from}-${to}/${size}`)
    t.same(part.bytes, whole.bytes.subarray(from, to + 1), range)
  }
  const several = await ask({ range: 'bytes=0-1, 4-6' })
  const boundary = /^multipart\/byteranges; boundary=(\w+)$/.exec(
    String(several.headers['content-type']),
  )![1]!
  const texts = several.text.split(`--${boundary}`).map((part) => part.split('\r\n\r\n')[1])
  t.same(texts, [undefined, '{"\r\n', 'ena\r\n'.replace('ena', whole.text.slice(4, 7)), undefined])

  for (const range of ['x', 'bytes=a-', 'bytes=5-2', 'bytes=--1']) {
    const refused = await ask({ range })
    t.match(refused, { status: 416, text: 'invalid range\n' }, range)
    t.equal(refused.headers.etag, undefined)
  }
  t.match(await ask({ range: 'bytes=99999999-' }), {
    status: 416,
    text: 'invalid range: failed to overlap\n',
    headers: { 'content-range': `bytes */${size}` },
  })
  const etag = String(whole.headers.etag)
  t.equal((await ask({ range: 'bytes=0-1', 'if-range': etag })).status, 206)
  t.equal((await ask({ range: 'bytes=0-1', 'if-range': '"other"' })).status, 200)
  t.equal((await ask({ range: `bytes=0-${size}, 0-${size}` })).status, 200, 'more than there is')
  const known = await ask({ range: 'bytes=0-1', 'if-none-match': etag })
  t.match(known, { status: 304, headers: { etag, 'last-modified': undefined } })
  const untagged = await ask({ 'if-none-match': '*' }, '/openapi/v3')
  t.match(untagged, { status: 304, headers: { etag: undefined, 'last-modified': /GMT$/ } })
  t.equal((await ask({ range: 'bytes=0-3' }, '/openapi/v3')).text, '{"pa')
  const written = { path: '/openapi/v3/version', headers: { 'if-none-match': etag } }
  t.equal((await call(server, { ...written, method: 'DELETE' })).status, 412)
  for (const [coding, packed] of [
    ['gzip', 'gzip'],
    ['br, GZIP;q=0.1', 'gzip'],
    ['gzip;q=0', undefined],
    ['x-gzip', undefined],
  ] as const) {
    const { headers } = await ask({ 'accept-encoding': coding }, '/openapi/v2')
    t.equal(headers['content-encoding'], packed, coding)
  }
})
