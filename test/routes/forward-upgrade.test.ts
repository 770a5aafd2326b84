import { once } from 'node:events'
import http from 'node:http'
import { Duplex } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import t from 'tap'
import { forwardUpgrade, type Upgrade } from '#routes/forward.js'
import { listen } from '../listen.js'

/** A client that takes what is written to it when it is told to. */
class SlowClient extends Duplex {
  text = ''
  takeNext: (() => void) | undefined
  isReading = false
  setNoDelay(): void {}
  setTimeout(): void {}
  destroySoon(): void {
    this.end(() => this.destroy())
  }
  override _read(): void {}
  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.takeNext = () => {
      this.text += chunk
      done()
    }
    if (this.isReading) this.takeNext()
  }
}

t.test('a client that reads slowly gets all that was said before the end', async (t) => {
  const behind = http.createServer()
  const ended = new Promise<void>((resolve) => {
    behind.on('upgrade', (_request, socket) => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n')
      socket.end('the end')
      socket.once('close', resolve)
    })
  })
  const port = await listen(t, behind)
  const client = new SlowClient()
  const raw = Object.assign(new Duplex(), { detachSocket() {}, socket: client })
  const incoming = { method: 'GET', headers: { upgrade: 'x' }, bodyType: '', raw, kube: {} }
  Object.assign(incoming.kube, { signal: new AbortController().signal })
  const over = once(raw, 'close')
  await forwardUpgrade(
    { url: new URL(`http://127.0.0.1:${port}/`) },
    incoming as unknown as FastifyRequest,
    { raw, hijack() {} } as unknown as FastifyReply,
    { socket: client, head: Buffer.alloc(0) } as unknown as Upgrade,
  )
  // Nothing has been read yet, and the other side is gone.
  await ended
  client.isReading = true
  client.takeNext!()
  await over
  t.match(client.text, /^HTTP\/1.1 101 [\s\S]*the end$/)
})
