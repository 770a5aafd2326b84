/** What the dashboard draws of a Pod: the states of its lanes in time, and the picture of them. */
import t from 'tap'
import type { PersistedObject } from '#api/object.js'
import { drawHistory } from '#dashboard/draw.js'
import { PodHistory } from '#dashboard/pod-history.js'
import { limits } from '#limits'
import { storedMetadata } from '../stored-metadata.js'
import { at, deleted, killed, ms, podAt } from '../timeline/pod-at.js'

const killing = (message = 'Stopping container c'): PersistedObject => ({
  kind: 'Event',
  apiVersion: 'v1',
  metadata: storedMetadata({}),
  involvedObject: { kind: 'Pod', uid: 'u', name: 'p' },
  reason: 'Killing',
  message,
  lastTimestamp: at(11),
})
const last = { ...deleted, deletionGracePeriodSeconds: 0 }

/** Lanes as `second text`, a dash where there is nothing any more. */
const lanesOf = ({ lanes }: PodHistory) =>
  Object.fromEntries(
    [...lanes].map(([lane, spans]) => [
      lane,
      spans.map(({ from, state }) => `${(from - ms(0)) / 1000} ${state?.text ?? '-'}`),
    ]),
  )

const endpoint = (text: string, conditions: { ready?: boolean; terminating?: boolean }) => ({
  ready: false,
  serving: true,
  terminating: false,
  ...conditions,
  text,
})

/** Seen as it ran, deleted at 10 with 30 s of grace, killed at 40. */
const watched = (): PodHistory => {
  const history = new PodHistory(podAt({}), [], ms(5))
  history.seeEndpoints(new Map([['web', endpoint('endpoint ready', { ready: true })]]), ms(6))
  history.see(podAt({ metadata: deleted }), ms(10))
  history.seeEndpoints(
    new Map([['web', endpoint('endpoint terminating, still serving', { terminating: true })]]),
    ms(10),
  )
  history.seeEvent(killing(), ms(11))
  const ended = { state: killed, phase: 'Failed' }
  history.see(podAt({ metadata: { ...deleted, finalizers: ['x/y'] }, ...ended }), ms(40))
  history.seeEndpoints(new Map(), ms(41))
  history.see(podAt({ metadata: last, ...ended }), ms(42))
  history.end(ms(43))
  return history
}

t.test('each lane of a Pod that is watched to its end has its states in order', (t) => {
  const history = watched()
  t.same(lanesOf(history), {
    object: [
      '0 Pending',
      '2 Running',
      '10 Terminating, grace 30 s, Running',
      '40 Terminating, grace 30 s, Failed',
      '42 Terminating, grace 0 s, Failed',
      '43 -',
    ],
    'container c': [
      '2 runs',
      '5 runs, not ready',
      '11 is stopped (first its preStop hook, then SIGTERM)',
      '40 was killed with SIGKILL (exit code 137)',
      '43 -',
    ],
    'service web': ['6 endpoint ready', '10 endpoint terminating, still serving', '41 -'],
    finalizers: ['40 x/y', '42 -'],
  })
  t.equal(history.askedAt, ms(10))
  t.equal(history.graceOverAt, ms(40), 'a grace of 0 says that all has ended')
  t.equal(history.goneAt, ms(43))
  t.match(history.steps.at(-1), { at: ms(43), what: 'the object is gone' })
  t.end()
})

t.test('the colour of an endpoint is that of its conditions, whatever the words', (t) => {
  const history = new PodHistory(podAt({}), [], ms(5))
  const states = [{}, { ready: true }, { ready: true, terminating: true }, { terminating: true }]
  for (const [i, conditions] of states.entries())
    history.seeEndpoints(new Map([['web', endpoint(`words ${i}`, conditions)]]), ms(6 + i))
  const tones = history.lanes.get('service web')!.map(({ state }) => state?.tone)
  t.same(tones, ['waits', 'runs', 'runs', 'ends'])
  t.end()
})

t.test(
  'a Pod that is found dying has the past that it tells of, and a shorter grace counts from then',
  (t) => {
    const history = new PodHistory(podAt({ metadata: deleted }), [killing()], ms(20))
    t.match(lanesOf(history), {
      object: ['0 Pending', '2 Running', '10 Terminating, grace 30 s, Running'],
      'container c': ['2 runs', '20 is stopped (first its preStop hook, then SIGTERM)'],
    })
    t.equal(history.graceOverAt, ms(40))
    history.see(podAt({ metadata: { ...deleted, deletionGracePeriodSeconds: 5 } }), ms(21))
    t.equal(history.graceOverAt, ms(26))
    t.equal(history.askedAt, ms(10))
    t.end()
  },
)

t.test('the past of a Pod that was restarted, or has ended, has the phases that it had', (t) => {
  const again = podAt({
    restartCount: 2,
    state: { waiting: { reason: 'CrashLoopBackOff' } },
  })
  again.status.conditions.push({ type: 'Initialized', status: 'True', lastTransitionTime: at(1) })
  const end = { exitCode: 3, startedAt: at(30), finishedAt: at(31) }
  again.status.containerStatuses[0].lastState = { terminated: end }
  t.same(lanesOf(new PodHistory(again, [], ms(50))), {
    object: ['0 Pending', '1 Running'],
    'container c': ['30 runs', '31 ended with exit code 3', '50 CrashLoopBackOff'],
  })
  const ended = (from: number, to: number) => ({
    terminated: { exitCode: 0, startedAt: at(from), finishedAt: at(to) },
  })
  const done = podAt({
    phase: 'Succeeded',
    state: ended(4, 8),
    status: { initContainerStatuses: [{ name: 'i', state: ended(2, 3) }] },
  })
  t.same(lanesOf(new PodHistory(done, [], ms(50))).object, [
    '0 Pending',
    '4 Running',
    '8 Succeeded',
  ])
  const held = podAt({
    metadata: { deletionTimestamp: at(6), deletionGracePeriodSeconds: 0 },
    phase: 'Succeeded',
    state: ended(4, 8),
  })
  t.same(lanesOf(new PodHistory(held, [], ms(50))).object, [
    '0 Pending',
    '4 Running',
    '6 Terminating, grace 0 s, Running',
    '8 Terminating, grace 0 s, Succeeded',
  ])
  t.equal(
    new PodHistory(
      podAt({ state: { terminated: { ...end, startedAt: '1970-01-01T00:00:00Z' } } }),
      [],
      ms(50),
    ).createdAt,
    ms(0),
    'a start that never was is none',
  )
  t.end()
})

t.test(
  'the picture has a bar a state, from the delete on, and what others wrote is text in it',
  (t) => {
    const history = watched()
    history.seeEvent(killing('<script>alert("&")</script>'), ms(42))
    const picture = drawHistory(history, ms(50))
    const titles = [...picture.matchAll(/<title>([^<]*)<\/title>/g)].map(([, title]) => title)
    t.match(titles.join('\n'), /^is stopped .*: \+1 s to \+30 s$/m)
    t.notMatch(titles.join('\n'), /^Pending/m, 'long before')
    for (const mark of ['delete asked for', 'grace over', 'gone']) t.match(picture, `>${mark}<`)
    t.notMatch(picture, 'script>alert')
    t.match(picture, 'Killing: &#60;script&#62;alert(&#34;&#38;&#34;)&#60;/script&#62;')
    history.seeEvent(killing('\u001b[31mred\u001b[0m\u0000'), ms(42))
    t.match(drawHistory(history, ms(50)), 'Killing: ␛[31mred␛[0m␀', 'what XML may not have')
    const boxes = [...picture.matchAll(/<rect x="([\d.]+)" y="(\d+)" width="([\d.]+)"/g)]
    const ends = new Map<string, number>()
    for (const [, x, y, width] of boxes) {
      t.ok(Number(x) >= (ends.get(y!) ?? 190) - 1, 'bars of a lane follow each other')
      ends.set(y!, Number(x) + Number(width))
    }
    t.ok(Math.max(...ends.values()) <= 960)
    t.equal(boxes.length, titles.filter((title) => title?.includes(' to ')).length)
    t.end()
  },
)

t.test('a Pod that changes for ever takes no more than it may', (t) => {
  const history = new PodHistory(podAt({}), [], ms(5))
  for (let i = 0; i < 2_000; i++) {
    history.see(podAt({ phase: i % 2 === 0 ? 'Pending' : 'Running' }), ms(5) + i)
    history.seeEvent(killing(`Stopping container ${i}`), ms(5) + i)
    history.seeEndpoints(new Map([[`service-${i}`, endpoint('ready', { ready: true })]]), ms(5) + i)
  }
  t.equal(history.lanes.size, limits.dashboardLanesMax)
  t.equal(history.steps.length, limits.dashboardStepsMax)
  t.ok(history.marks.length <= limits.dashboardStepsMax)
  for (const spans of history.lanes.values()) t.ok(spans.length <= limits.dashboardSpansMax)
  t.equal(history.createdAt, ms(0))
  t.match(history.lanes.get('object')!.at(-1)!.state?.text, 'Running')
  history.end(ms(50))
  t.match(history.steps[0], { what: 'created' })
  t.match(history.steps.at(-1), { what: 'the object is gone' }, 'its end is told')
  t.match(history.marks.at(-1)!.what, /container 1999/)
  t.end()
})
