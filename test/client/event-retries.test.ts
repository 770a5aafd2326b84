/** Events that cannot be written now. */
import t from 'tap'
import { systemClock } from '#api/clock.js'
import { failure } from '#api/errors.js'
import type { Client } from '#client/client.js'
import { createEventRecorder } from '#client/event-recorder.js'
import { silentLog } from '#client/log.js'
import { limits } from '#limits'
import { eventually } from '../eventually.js'

const subject = { kind: 'Pod', apiVersion: 'v1', metadata: { name: 'p', namespace: 'default' } }
const away = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
const refusal = (code: number, reason: string) => failure({ code, reason, message: reason })

/** What a server is sent that answers so, and then well, until the last of these Events has come. */
const sentTo = async (
  answers: readonly (Error | undefined)[],
  messages: readonly string[],
): Promise<string[]> => {
  const sent: string[] = []
  const left = [...answers]
  const take = async (said: string): Promise<void> => {
    sent.push(said)
    const error = left.shift()
    if (error !== undefined) throw error
  }
  const client = {
    create: (_: unknown, { message }: { message: string }) => take(message),
    patch: (_ref: unknown, _at: unknown, { message, count }: { message: string; count: number }) =>
      take(`${message} ${count}`),
  } as unknown as Client
  const deps = { client, component: 'tester', clock: systemClock, log: silentLog, retryMs: 1 }
  const recorder = createEventRecorder(deps)
  for (const message of messages) recorder.event(subject, 'Normal', 'Told', message)
  await eventually('the last one', () => sent.at(-1) === messages.at(-1))
  return sent
}

t.test('while the server is away an Event is tried again, and those behind it wait', async (t) => {
  t.same(await sentTo([away, away], ['a', 'b']), ['a', 'a', 'a', 'b'])
  t.same(await sentTo([refusal(429, 'TooManyRequests')], ['a', 'b']), ['a', 'a', 'b'])
})

t.test('it is given up in the end, and at once if the server refuses it', async (t) => {
  const tries = Array(limits.eventTriesMax)
  t.same(await sentTo(tries.fill(away), ['a', 'b']), [...tries.fill('a'), 'b'])
  t.same(await sentTo([refusal(403, 'Forbidden')], ['a', 'b']), ['a', 'b'])
})

t.test('the same again counts once, however often it is tried', async (t) => {
  t.same(await sentTo([undefined, away, away], ['a', 'a', 'b']), ['a', 'a 2', 'a 2', 'a 2', 'b'])
  const isThere = refusal(409, 'AlreadyExists')
  t.same(await sentTo([away, isThere], ['a', 'a', 'b']), ['a', 'a', 'a 2', 'b'])
})

t.test('a process that ends waits for no better time', async (t) => {
  let tries = 0
  const create = async (): Promise<never> => {
    tries++
    throw away
  }
  const client = { create } as unknown as Client
  const deps = { client, component: 'tester', clock: systemClock, log: silentLog, retryMs: 3e9 }
  const recorder = createEventRecorder(deps)
  for (const message of ['a', 'b']) recorder.event(subject, 'Normal', 'Told', message)
  await recorder.flush()
  t.ok(tries >= 2 && tries <= 3, 'each was tried')
})
