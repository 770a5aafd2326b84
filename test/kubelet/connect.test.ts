/** log, exec, attach and portforward through the API server, as clients speak them: WebSocket with channels. */
import { once } from 'node:events'
import http from 'node:http'
import https from 'node:https'
import type { Duplex } from 'node:stream'
import t from 'tap'
import WebSocket from 'ws'
import { HeaderCodec } from '#kubelet/server/spdy-headers.js'
import { eventually } from '../eventually.js'
import { freePort } from '../free-port.js'
import { listen } from '../listen.js'
import { script, startNode, type TestNode } from './node.js'

interface Spoken {
  /** What came on each channel. */
  channels: Map<number, string>
  protocol: string
  code: number
}

const dial = (node: TestNode, rest: string, protocols: string | string[]) => {
  const { config } = node.client
  const url = `${config.server.replace('https', 'wss')}/api/v1/namespaces/default/pods/${rest}`
  return new WebSocket(url, protocols, {
    ca: config.ca,
    cert: config.cert,
    key: config.key,
    headers: config.token ? { authorization: `Bearer ${config.token}` } : {},
  })
}

const speak = async (
  node: TestNode,
  rest: string,
  say: (socket: WebSocket) => void = () => {},
  protocol = 'v5.channel.k8s.io',
): Promise<Spoken> => {
  const socket = dial(node, rest, protocol)
  const channels = new Map<number, string>()
  socket.on('message', (data: Buffer) => {
    const text = data.subarray(1).toString()
    channels.set(data[0]!, (channels.get(data[0]!) ?? '') + text)
  })
  return new Promise((resolve, reject) => {
    socket.on('open', () => say(socket))
    socket.on('error', reject)
    socket.on('close', (code) => resolve({ channels, code, protocol: socket.protocol }))
  })
}

t.test('through the server to a container', async (t) => {
  const node = await startNode(t)
  await node.run('p', { ...script('while read x; do echo "heard $x"; done'), stdin: true })
  await node.ready('p')

  t.test('exec hands over stdin, both outputs and the exit code', async (t) => {
    const command = ['sh', '-c', 'cat; echo oops >&2; exit 3'].map(
      (w) => `command=${encodeURIComponent(w)}`,
    )
    const spoken = await speak(
      node,
      `p/exec?stdin=true&stdout=true&stderr=true&${command.join('&')}`,
      (socket) => {
        socket.send(Buffer.from('\0hello\n'))
        socket.send(Buffer.from([255, 0]))
      },
    )
    t.equal(spoken.protocol, 'v5.channel.k8s.io')
    t.equal(spoken.channels.get(1), 'hello\n')
    t.equal(spoken.channels.get(2), 'oops\n')
    t.match(JSON.parse(spoken.channels.get(3)!), {
      status: 'Failure',
      reason: 'NonZeroExitCode',
      details: { causes: [{ reason: 'ExitCode', message: '3' }] },
    })
    t.equal(spoken.code, 1000)
  })

  t.test('a command may be as long as a request may be', async (t) => {
    const word = 'a'.repeat(100_000)
    const { channels } = await speak(node, `p/exec?stdout=true&command=echo&command=${word}`)
    t.equal(channels.get(1), `${word}\n`)
  })

  t.test('older clients speak v4; what cannot run is said on the error channel', async (t) => {
    const good = await speak(
      node,
      'p/exec?stdout=true&command=true',
      undefined,
      'v4.channel.k8s.io',
    )
    t.same(JSON.parse(good.channels.get(3)!), { metadata: {}, status: 'Success' })
    const old = (command: string) =>
      speak(node, `p/exec?stdout=true&command=${command}`, undefined, 'channel.k8s.io')
    t.notOk((await old('true')).channels.has(3), 'the eldest are told only of what went wrong')
    t.match((await old('false')).channels.get(3), /^command terminated with .*exit code 1$/)
    const bad = await speak(node, 'p/exec?stdout=true&command=no-such-command')
    t.match(JSON.parse(bad.channels.get(3)!).message, /executable file not found in \$PATH/)
  })

  t.test('attach writes to the main process and reads what it says', async (t) => {
    const spoken = await speak(node, 'p/attach?stdin=true&stdout=true', (socket) => {
      socket.send(Buffer.from('\0you\n'))
      socket.on('message', () => socket.close())
    })
    t.equal(spoken.channels.get(1), 'heard you\n')
    t.equal(await node.logs('p'), 'heard you\n')
  })

  t.test('a log comes over WebSocket: an empty message, then what it says', async (t) => {
    const told = async (protocols: string[]) => {
      const socket = dial(node, 'p/log', protocols)
      const messages: { text: string; isBinary: boolean }[] = []
      socket.on('message', (data, isBinary) => messages.push({ text: String(data), isBinary }))
      const [code] = await once(socket, 'close')
      const text = messages.map((message) => message.text).join('')
      return { first: messages[0], text, code, protocol: socket.protocol }
    }
    const said = await node.logs('p')
    for (const protocols of [[], ['binary.k8s.io']]) {
      const { first, text, code, protocol } = await told(protocols)
      t.same(first, { text: '', isBinary: true })
      t.same([text, code, protocol], [said, 1000, protocols.join()])
    }
    const { first, text } = await told(['other', 'base64.binary.k8s.io'])
    t.same(first, { text: '', isBinary: false })
    t.equal(Buffer.from(text, 'base64').toString(), said)
    const socket = dial(node, 'p/log', ['other'])
    socket.on('error', () => {})
    const [, { statusCode }] = await once(socket, 'unexpected-response')
    t.equal(statusCode, 403)
    socket.terminate()
  })

  t.test('a followed log ends when its reader leaves', async (t) => {
    const stop = new AbortController()
    const answer = await node.client.stream({
      method: 'GET',
      path: '/api/v1/namespaces/default/pods/p/log?follow=true',
      signal: stop.signal,
    })
    for await (const chunk of answer) {
      t.equal(String(chunk), 'heard you\n')
      break
    }
    stop.abort()
  })

  t.test('portforward carries bytes both ways, by channels and by tunnel', async (t) => {
    const echo = http.createServer((request, response) => response.end(`path ${request.url}`))
    const { podIP } = (await node.get('p'))!.status!
    const port = await listen(t, echo, podIP)
    const ask = 'GET /x HTTP/1.0\r\n\r\n'
    const spoken = await speak(
      node,
      `p/portforward?ports=${port}`,
      (socket) => {
        socket.send(Buffer.from(`\0${ask}`))
        socket.on('message', (data: Buffer) => data.includes('path /x') && socket.close())
      },
      'v4.channel.k8s.io',
    )
    t.match(spoken.channels.get(0), /path \/x$/)
    t.match(await tunnel(node, port, ask), /path \/x$/)
  })

  t.test('portforward to a port where nobody listens says so as Go does', async (t) => {
    const { metadata, status } = (await node.get('p'))!
    const port = await freePort()
    const spoken = await speak(
      node,
      `p/portforward?ports=${port}`,
      (socket) => socket.on('message', (data: Buffer) => data.length > 3 && socket.close()),
      'v4.channel.k8s.io',
    )
    const { name, namespace, uid } = metadata
    const refused = `dial tcp ${status!.podIP}:${port}: connect: connection refused`
    const said = spoken.channels.get(1)!
    const expected = `error forwarding port ${port} to pod ${name}_${namespace}(${uid}): ${refused}`
    t.equal(said.slice(-expected.length), expected)
  })

  t.test('what is no WebSocket ends its connection, and not the kubelet', async (t) => {
    const isOver = (socket: WebSocket) => once(socket, 'close').then(([code]) => code)
    for (const [rest, protocol] of [
      ['portforward?ports=1', 'v4.channel.k8s.io'],
      ['exec?stdout=true&command=cat', 'v5.channel.k8s.io'],
      ['exec?stdout=true&command=no-such-command', 'v5.channel.k8s.io'],
    ] as const) {
      const socket = dial(node, `p/${rest}`, protocol)
      socket.on('error', () => {})
      // Behind the handshake at once: no command may have ended before.
      socket.on('upgrade', (answer) => answer.socket.write(Buffer.from([0x83, 0x80, 0, 0, 0, 0])))
      t.ok(await isOver(socket), rest)
    }
    t.match(await node.logs('p'), /heard/, 'the kubelet answers')
  })

  t.test('an ended container is not there, however it is asked for', async (t) => {
    await node.run('over', script('exit 0'), { restartPolicy: 'Never' })
    await node.until('over', ({ status }) => status?.phase === 'Succeeded')
    const refused = {
      exec: 'container not found ("main")',
      attach: 'container main not found in pod over_default',
    }
    for (const upgrade of ['websocket', 'SPDY/3.1'])
      for (const [kind, body] of Object.entries(refused))
        t.same(await refusal(node, `over/${kind}?stdout=true&command=true`, upgrade), {
          code: 500,
          body,
        })
  })

  t.test('what cannot be connected is refused as upstream does', async (t) => {
    const get = (rest: string) =>
      node.client.request({ method: 'GET', path: `/api/v1/namespaces/default/pods/${rest}` })
    await t.rejects(get('p/exec?command=ls'), { code: 400, message: 'Upgrade request required' })
    await t.rejects(get('p/log?container=x'), {
      code: 400,
      message: 'container x is not valid for pod p',
    })
    await t.rejects(get('p/log?tailLines=-1'), {
      code: 422,
      message:
        'PodLogOptions "p" is invalid: tailLines: Invalid value: -1: must be greater than or equal to 0',
    })
    await t.rejects(get('none/log'), { code: 404, message: 'pods "none" not found' })
  })
})

/** How an upgrade is refused. */
const refusal = (node: TestNode, rest: string, upgrade: string) => {
  const { config } = node.client
  const request = https.request(`${config.server}/api/v1/namespaces/default/pods/${rest}`, {
    method: 'POST',
    ca: config.ca,
    headers: {
      authorization: `Bearer ${config.token}`,
      connection: 'Upgrade',
      upgrade,
      'sec-websocket-version': '13',
      'sec-websocket-key': Buffer.from('0123456789abcdef').toString('base64'),
      'sec-websocket-protocol': 'v5.channel.k8s.io',
    },
  })
  request.end()
  return new Promise<{ code: number | undefined; body: string }>((resolve, reject) => {
    request.once('upgrade', () => reject(new Error('upgraded')))
    request.once('response', async (answer) => {
      resolve({ code: answer.statusCode, body: (await answer.toArray()).join('').trim() })
    })
    request.once('error', reject)
  })
}

/** One request through the SPDY tunnel that kubectl opens; yields all that came back on the data stream. */
const tunnel = async (node: TestNode, port: number, ask: string): Promise<string> => {
  const name = 'SPDY/3.1+portforward.k8s.io'
  const { config } = node.client
  // The ws client refuses this protocol's name, as its server side does: the handshake is done by hand.
  const request = https.request(`${config.server}/api/v1/namespaces/default/pods/p/portforward`, {
    ca: config.ca,
    headers: {
      authorization: `Bearer ${config.token}`,
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': Buffer.from('0123456789abcdef').toString('base64'),
      'sec-websocket-protocol': name,
    },
  })
  request.end()
  const socket = await new Promise<Duplex>((resolve, reject) => {
    request.once('upgrade', (answer, stream) =>
      answer.headers['sec-websocket-protocol'] === name
        ? resolve(stream)
        : reject(new Error('protocol')),
    )
    request.once('response', (answer) => reject(new Error(`HTTP ${answer.statusCode}`)))
  })
  const received: Buffer[] = []
  socket.on('data', (chunk) => received.push(chunk))
  const send = (bytes: Buffer) => {
    const head =
      bytes.length < 126
        ? Buffer.from([0x82, 0x80 | bytes.length])
        : Buffer.from([0x82, 0xfe, bytes.length >> 8, bytes.length & 255])
    socket.write(Buffer.concat([head, Buffer.alloc(4), bytes]))
  }
  const headers = new HeaderCodec()
  for (const [id, type] of [
    [1, 'error'],
    [3, 'data'],
  ] as const) {
    const block = await headers.encode({ streamtype: type, port: String(port), requestid: '0' })
    const frame = Buffer.alloc(18)
    frame.writeUInt32BE(0x80030001, 0)
    frame.writeUInt32BE(10 + block.length, 4)
    frame.writeUInt32BE(id, 8)
    send(Buffer.concat([frame, block]))
  }
  const data = Buffer.alloc(8)
  data.writeUInt32BE(3, 0)
  data.writeUInt32BE(ask.length, 4)
  send(Buffer.concat([data, Buffer.from(ask)]))
  await eventually('the answer', () => Buffer.concat(received).includes('path /x'))
  socket.destroy()
  headers.close()
  const text = Buffer.concat(received).toString('latin1')
  return text.slice(0, text.indexOf('path /x') + 'path /x'.length)
}
