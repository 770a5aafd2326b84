/** How long a node counts as silent when a test moves the cluster's clock on. */
import t from 'tap'
import { Silence } from '#controllers/node-lifecycle/silence.js'

const hourMs = 3_600_000
/** Of a Lease of 40 s, which is renewed every ten. */
const leaseSeconds = 40

t.test('a kubelet that renews its Lease in time is never silent for moved time', (t) => {
  const silence = new Silence()
  let longestMs = 0
  for (let now = 0; now < 120_000; now += 1_000) {
    if (now % 10_000 === 0) silence.hear('n', [`renewal at ${now}`], now)
    silence.clockMoved(hourMs, now)
    longestMs = Math.max(longestMs, silence.lengthMs('n', leaseSeconds, now))
  }
  t.equal(longestMs, 9_000)
  t.end()
})

t.test('a node whose renewal does not come after a move was silent for all of it', (t) => {
  const silence = new Silence()
  silence.hear('n', ['renewal', 'report'], 0)
  silence.clockMoved(hourMs, 9_000)
  silence.clockMoved(hourMs, 20_000)
  t.equal(silence.lengthMs('n', leaseSeconds, 24_000), 24_000, 'it may still be on its way')
  t.equal(silence.lengthMs('n', leaseSeconds, 24_001), 24_001 + 2 * hourMs)
  t.equal(silence.lengthMs('n', 4, 15_001), 15_001 + 2 * hourMs, 'a shorter Lease comes sooner')
  t.equal(silence.lengthMs('n', undefined, 24_001), 24_001, 'without a Lease nobody knows')
  silence.clockMoved(-2 * hourMs, 25_000)
  t.equal(silence.lengthMs('n', leaseSeconds, 25_000), 25_000 + 2 * hourMs)
  silence.hear('n', ['renewal', 'report'], 26_000)
  t.not(silence.lengthMs('n', leaseSeconds, 26_000), 0, 'nothing new is no sign of life')
  for (const [renewed, reported] of [[undefined, 'report'], ['renewal', undefined], []])
    silence.hear('n', [renewed, reported], 27_000)
  silence.hear('n', ['renewal', 'report'], 28_000)
  t.not(silence.lengthMs('n', leaseSeconds, 28_000), 0, 'nor is what somebody has taken away')
  silence.forgive(30_000)
  t.equal(silence.lengthMs('n', leaseSeconds, 90_000), 60_000)
  t.end()
})
