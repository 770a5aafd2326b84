/** What is being answered: whose time is over, and whom a server that closes waits for. */
import t from 'tap'
import { ApiError } from '#api/errors.js'
import { OpenRequests } from '#filters/open-requests.js'
import { limits } from '#limits'
import { eventually } from '../eventually.js'

const second = 1_000
const day = 86_400 * second

/** Requests that have run for a while, by verb, and what became of them. */
const opened = () => {
  const open = new OpenRequests()
  const told: string[] = []
  const add = (verb: string, age = 0, timeoutMs?: number) => {
    const listeners: (() => void)[] = []
    const reply = {
      sent: false,
      raw: {},
      request: { raw: { complete: true } },
      send: (late: Error) => {
        reply.sent = true
        told.push(`${verb} ${late instanceof ApiError ? late.message : late.constructor.name}`)
        end()
      },
    }
    const request = {
      info: { verb, subresource: '', isResourceRequest: true },
      startedAt: performance.now() - age,
      timeoutMs,
      abort: () => void told.push(`${verb} stops`),
      whenOver: (listener: () => void) => void listeners.push(listener),
    }
    const end = () => {
      for (const listener of listeners) listener()
    }
    open.track({ kube: request } as never, reply as never)
    return end
  }
  return { open, told, add }
}

t.test('finished Pods are released, in whichever order', async (t) => {
  const { open, add } = opened()
  const ends = ['get', 'create', 'watch', 'list'].map((verb) => add(verb))
  t.equal(open.count, 4)
  for (const [i, at] of [1, 0, 3, 2].entries()) {
    ends[at]!()
    t.equal(open.count, 3 - i)
  }
})

t.test('whoever has run for too long is answered and told to stop, and nobody else', async (t) => {
  const { open, told, add } = opened()
  const write = limits.writeTimeoutMs
  const all = limits.requestTimeoutMs
  add('watch', 10 * all)
  add('list', all)
  add('patch', all)
  add('get', all - second)
  add('deletecollection', all - second)
  add('update', write)
  add('create', write - second)
  open.expire(all)
  t.same(told, [
    'list stops',
    'list PlainTextError',
    'patch stops',
    'patch PlainTextError',
    'update stops',
    'update Timeout: request did not complete within requested timeout - context deadline exceeded',
  ])
  t.equal(open.count, 4)
  told.length = 0
  open.expire(second)
  t.same(
    told.filter((line) => !line.endsWith('stops')),
    ['get PlainTextError', 'deletecollection PlainTextError', 'create PlainTextError'],
    'a shorter time of the server is that of writes, too',
  )
})

const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length

t.test('what a client allows for its answer ends it, and is forgotten with it', async (t) => {
  const { open, told, add } = opened()
  const before = timers()
  add('watch', 0, 1)
  const end = add('list', 0, 60 * second)
  add('get', 0, 1)
  const longest = add('get', 0, 30 * day)
  await eventually('the end of its time', () => open.count === 3)
  longest()
  t.same(told, ['get stops', 'get PlainTextError'])
  t.equal(timers(), before + 1)
  end()
  t.equal(timers(), before)
})

t.test('a server that closes ends watches at once and waits for the others', async (t) => {
  const { open, told, add } = opened()
  const before = timers()
  const ends = [add('create'), add('watch'), add('get')]
  let drained = false
  const draining = open.drain(60 * second).then(() => {
    drained = true
  })
  t.same(told, ['watch stops'])
  // What was accepted before is let in still.
  ends.push(add('list'), add('watch'))
  t.equal(told.length, 2, 'but no watch')
  const last = ends.pop()!
  for (const end of ends) end()
  await new Promise((resolve) => setImmediate(resolve))
  t.notOk(drained)
  last()
  await draining
  t.equal(open.count, 0)
  t.equal(timers(), before)
})

t.test('a drain does not wait for ever, and not at all if nothing is open', async (t) => {
  const { open, add } = opened()
  await open.drain(60 * second)
  add('create')
  await open.drain(1)
  t.equal(open.count, 1)
})
