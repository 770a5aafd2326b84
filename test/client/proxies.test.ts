/** Proxies between a client and its server: the `proxy-url` of a kubeconfig. */
import { once } from 'node:events'
import http from 'node:http'
import https from 'node:https'
import net, { type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { systemClock } from '#api/clock.js'
import { createTransport } from '#client/transport.js'
import { issueCertificate } from '#net/x509.js'
import { listen } from '../listen.js'

const notBeforeMs = systemClock.now() - 60_000
const span = { notBeforeMs, notAfterMs: notBeforeMs + 3_600_000 }
const ca = issueCertificate({ use: 'authority', subject: { commonName: 'ca' }, ...span })
const { keyPem: key, certPem: cert } = issueCertificate({
  ...{ use: 'server', subject: { commonName: 's' }, issuer: ca, ...span },
  names: ['api.example', '127.0.0.1'],
})

/** An API server, and a client that knows it by a name that only proxies can look up. */
const start = async (t: Test, { secure = true } = {}) => {
  const hello = (_: unknown, answer: http.ServerResponse) => void answer.end('hello')
  const api = secure ? https.createServer({ key, cert }, hello) : http.createServer(hello)
  const port = await listen(t, api)
  return {
    port,
    server: `${secure ? 'https' : 'http'}://api.example:${port}`,
    client: (proxyUrl: string, server = `${secure ? 'https' : 'http'}://api.example:${port}`) => {
      const transport = createTransport({ server, ca: ca.certPem, namespace: 'n', proxyUrl })
      t.teardown(() => transport.close())
      return async () => {
        const answer = await transport.send({ method: 'GET', path: '/' })
        let text = ''
        for await (const chunk of answer) text += chunk
        return text
      }
    },
  }
}

const join = (one: Socket, other: Socket): void => {
  one.pipe(other).pipe(one)
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const)
    from.on('close', () => to.destroy()).on('error', () => to.destroy())
}

for (const isSecure of [false, true])
  t.test(`requests go through a proxy of ${isSecure ? 'HTTPS' : 'HTTP'}`, async (t) => {
    const seen: unknown[] = []
    const proxy = isSecure ? https.createServer({ key, cert }) : http.createServer()
    proxy.on('connect', ({ url = '', headers }, socket: Socket) => {
      seen.push([url.replace(/\d+$/, 'PORT'), headers['proxy-authorization']])
      if (url.startsWith('nowhere')) return void socket.end('HTTP/1.1 407 Who are you\r\n\r\n')
      const further = net.connect(Number(url.split(':')[1]), '127.0.0.1', () => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n')
        join(socket, further)
      })
    })
    const at = `127.0.0.1:${await listen(t, proxy)}`
    const scheme = isSecure ? 'https' : 'http'
    const { client, port } = await start(t)
    const ask = client(`${scheme}://ada:p%40ss@${at}`)
    t.same([await ask(), await ask()], ['hello', 'hello'])
    const basic = `Basic ${Buffer.from('ada:p@ss').toString('base64')}`
    t.same(seen, [['api.example:PORT', basic]], 'one connection for both')
    const plain = await start(t, { secure: false })
    t.equal(await plain.client(`${scheme}://${at}`)(), 'hello')
    t.same(seen[1], ['api.example:PORT', undefined])
    await t.rejects(client(`${scheme}://${at}`, `https://nowhere:${port}`)(), {
      message: 'the proxy answers 407 Who are you',
    })
  })

t.test('requests go through a proxy of SOCKS 5', async (t) => {
  const seen: string[] = []
  const proxy = net.createServer(async (socket) => {
    socket.on('error', () => {})
    const next = async (): Promise<Buffer> => (await once(socket, 'data'))[0]
    const methods = [...(await next())]
    seen.push(methods.join(' '))
    const method = methods.includes(2, 2) ? 2 : 0
    socket.write(Buffer.from([5, method]))
    if (method === 2) {
      seen.push(String(await next()).slice(1))
      socket.write(Buffer.from([1, 0]))
    }
    const asked = await next()
    const host = String(asked.subarray(5, 5 + asked[4]!))
    seen.push(host)
    if (host === 'nowhere') return void socket.end(Buffer.from([5, 4, 0, 1, 0, 0, 0, 0, 0, 0]))
    const further = net.connect(asked.readUInt16BE(asked.length - 2), '127.0.0.1', () => {
      // In parts, and with a name.
      socket.write(Buffer.from([5]))
      setImmediate(() => {
        socket.write(Buffer.from([0, 0, 3, 2, 97, 98, 1, 2]))
        join(socket, further)
      })
    })
  })
  const at = `127.0.0.1:${await listen(t, proxy)}`
  const { client, port } = await start(t)
  const ask = client(`socks5://${at}`)
  t.same([await ask(), await ask()], ['hello', 'hello'])
  t.same(seen.splice(0), ['5 1 0', 'api.example'], 'one connection for both')
  t.equal(await client(`socks5://ada:secret@${at}`)(), 'hello')
  t.same(seen.splice(0), ['5 2 0 2', '\u0003ada\u0006secret', 'api.example'])
  const plain = await start(t, { secure: false })
  t.equal(await plain.client(`socks5://${at}`)(), 'hello')
  await t.rejects(client(`socks5://${at}`, `https://nowhere:${port}`)(), {
    message: 'the proxy answers: host unreachable',
  })
})

t.test('a proxy that hangs up or is away is told', async (t) => {
  const proxy = net.createServer((socket) => void socket.on('error', () => {}).end())
  const port = await listen(t, proxy)
  const { client } = await start(t)
  await t.rejects(
    client(`socks5://127.0.0.1:${port}`)(),
    /the proxy has ended the connection|reset/,
  )
  await t.rejects(client(`http://127.0.0.1:${port}`)(), /socket hang up|reset/)
  const away = await listen(t, net.createServer())
  await t.rejects(client(`socks5://127.0.0.9:${away}`)(), { code: 'ECONNREFUSED' })
})
