/** Writes that come in one turn of the event loop are handled together, when all of them have been read. */
import diagnostics from 'node:diagnostics_channel'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import net from 'node:net'
import t from 'tap'
import { systemClock } from '#api/clock.js'
import { openMemory } from '#storage/memory/memory-driver.js'
import { startApiServer } from './api-server.js'

const path = '/api/v1/namespaces/x/configmaps'
const connectionCount = 8

interface Step {
  readonly what: 'read' | 'written'
  readonly name: string
  readonly turn: number
}

const postOf = (name: string): string => {
  const body = JSON.stringify({ metadata: { name } })
  return `POST ${path} HTTP/1.1\r\nhost: x\r\nx-name: ${name}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
}

t.test('no write is handled before those that came with it are read', async (t) => {
  let turn = 0
  let next = setImmediate(function count() {
    turn++
    next = setImmediate(count)
  })
  t.teardown(() => clearImmediate(next))
  const steps: Step[] = []
  const read = (message: unknown): void => {
    const { headers } = (message as { request: IncomingMessage }).request
    steps.push({ what: 'read', name: String(headers['x-name']), turn })
  }
  diagnostics.subscribe('http.server.request.start', read)
  t.teardown(() => diagnostics.unsubscribe('http.server.request.start', read))
  const driver = openMemory({ clock: systemClock })
  const txn = driver.txn.bind(driver)
  driver.txn = (compares, operations) => {
    const name = operations[0]!.key.split('/').at(-1)!
    steps.push({ what: 'written', name, turn })
    return txn(compares, operations)
  }
  const { url } = await startApiServer(t, { driver })
  const sockets = Array.from({ length: connectionCount }, () =>
    net.connect(Number(new URL(url).port), '127.0.0.1'),
  )
  t.teardown(() => sockets.forEach((socket) => void socket.destroy()))
  await Promise.all(sockets.map((socket) => once(socket, 'connect')))
  const round = async (names: readonly string[]): Promise<void> => {
    const answered = Promise.all(sockets.map((socket) => once(socket, 'data')))
    for (const [i, socket] of sockets.entries()) socket.write(postOf(names[i]!))
    for (const [answer] of await answered) t.match(String(answer), /^HTTP\/1.1 201 /)
  }
  // The most that one turn brought in: if that was one, nothing is shown.
  let most = 0
  for (let i = 0; i < 5 || (most < 2 && i < 100); i++) {
    steps.length = 0
    await round(sockets.map((_, n) => `m-${i}-${n}`))
    const reads = steps.filter(({ what }) => what === 'read')
    const writes = steps.filter(({ what }) => what === 'written')
    t.same(
      writes.map(({ name }) => name),
      reads.map(({ name }) => name),
      'in their order',
    )
    for (const one of reads) {
      const together = reads.filter((other) => other.turn === one.turn)
      most = Math.max(most, together.length)
      const written = steps.findIndex(({ what, name }) => what === 'written' && name === one.name)
      t.ok(steps.indexOf(together.at(-1)!) < written, `${one.name} after what came with it`)
    }
  }
  t.ok(most > 1, `${most} came in one turn`)
})
