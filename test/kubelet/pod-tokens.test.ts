/** When a Pod gets another token than before. */
import t from 'tap'
import { systemClock } from '#api/clock.js'
import type { Client } from '#client/client.js'
import { silentLog } from '#client/log.js'
import { PodTokens } from '#kubelet/pod-tokens.js'

const hour = 60 * 60 * 1000
const pod = { metadata: { name: 'p', namespace: 'ns', uid: 'u' }, spec: {} } as never

t.test(
  'a token is renewed after four fifths of its life, or a day, and kept while it is good',
  async (t) => {
    let now = Date.UTC(2026, 0)
    let made = 0
    let isAway = false
    const create = async (_: unknown, { spec }: { spec: { expirationSeconds: number } }) => {
      if (isAway) throw new Error('away')
      const expiresAt = now + spec.expirationSeconds * 1000
      return {
        status: { token: `t${++made}`, expirationTimestamp: new Date(expiresAt).toISOString() },
      }
    }
    const client = { create } as unknown as Client
    const tokens = new PodTokens({
      client,
      clock: { ...systemClock, now: () => now },
      log: silentLog,
    })
    const tokenAfter = async (ms: number, expirationSeconds?: number) => {
      now += ms
      const wanted = expirationSeconds === undefined ? {} : { expirationSeconds }
      return (await tokens.get(pod, wanted)).token
    }
    t.equal(await tokenAfter(0), 't1')
    t.equal(await tokenAfter(0.79 * hour), 't1')
    t.equal(await tokenAfter(0.02 * hour), 't2')
    isAway = true
    t.equal(await tokenAfter(0.99 * hour), 't2', 'the API server is away')
    await t.rejects(tokenAfter(0.02 * hour), /away/)
    isAway = false
    const month = 30 * 24 * 3600
    t.equal(await tokenAfter(0, month), 't3')
    t.equal(await tokenAfter(23 * hour, month), 't3')
    t.equal(await tokenAfter(2 * hour, month), 't4')
    tokens.forget('u')
    t.equal(await tokenAfter(0, month), 't5', 'the Pod was gone')
  },
)
