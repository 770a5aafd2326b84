/** Rules of deletion that hold for every input (fast-check), on the pure parts of the delete path. */
import fc from 'fast-check'
import t from 'tap'
import { formatTime, parseTime } from '#api/clock.js'
import type { KubeObject } from '#api/object.js'
import { beforeDelete, markAsDeleting } from '#registry/before-delete.js'
import { decodeContinue, encodeContinue } from '#registry/continue-token.js'
import { deletionFinalizers } from '#registry/propagation.js'
import type { DeleteOptions, ResourceDefinition, Strategy } from '#registry/resource-definition.js'

const definitionWith = (strategy: Strategy): ResourceDefinition =>
  ({ gvk: { group: '', version: 'v1', kind: 'Pod' }, strategy }) as ResourceDefinition

const graceful = definitionWith({
  checkGracefulDelete: (_object, options) => {
    options.gracePeriodSeconds ??= 30
    return true
  },
})
const now = Date.parse('2026-01-01T00:00:00Z')

t.test('after any run of deletes, grace never grew and the end never moved away', async () => {
  const step = fc.record({
    grace: fc.option(fc.integer({ min: -3, max: 100 }), { nil: undefined }),
    laterMs: fc.integer({ min: 0, max: 50_000 }),
  })
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 8 }), (steps) => {
      const object: KubeObject = { kind: 'Pod', apiVersion: 'v1', metadata: { generation: 1 } }
      let clock = now
      let grace = Number.POSITIVE_INFINITY
      let end = Number.POSITIVE_INFINITY
      for (const { grace: asked, laterMs } of steps) {
        clock += laterMs
        const before = structuredClone(object)
        const outcome = beforeDelete(
          object,
          asked === undefined ? {} : { gracePeriodSeconds: asked },
          { definition: graceful, now: clock },
        )
        if (outcome !== 'yes') {
          t.same(object, before, 'nothing is written unless it says so')
          continue
        }
        const { deletionTimestamp = '', deletionGracePeriodSeconds = -1 } = object.metadata
        const ends = parseTime(deletionTimestamp)
        if (deletionGracePeriodSeconds > grace || deletionGracePeriodSeconds < 0) return false
        // Whole seconds: an end that was moved to now may lie up to a second before it.
        if (ends < parseTime(formatTime(clock)) || ends > Math.max(end, clock)) return false
        grace = deletionGracePeriodSeconds
        end = ends
      }
      return object.metadata.generation === 2
    }),
  )
})

t.test('what is decided of an end that is there already, at its limits', async (t) => {
  /** It was to end half a minute after `now` at first, and has been asked to end otherwise later. */
  const decide = (
    stored: number | undefined,
    asked: number | undefined,
    laterMs: number,
    definition = graceful,
  ) => {
    const object: KubeObject = { kind: 'Pod', apiVersion: 'v1', metadata: {} }
    object.metadata.deletionTimestamp = formatTime(now + 30_000)
    if (stored !== undefined) object.metadata.deletionGracePeriodSeconds = stored
    const options: DeleteOptions = asked === undefined ? {} : { gracePeriodSeconds: asked }
    const outcome = beforeDelete(object, options, { definition, now: now + laterMs })
    const { deletionTimestamp = '', deletionGracePeriodSeconds } = object.metadata
    const seconds = (parseTime(deletionTimestamp) - now) / 1000
    return [outcome, options.gracePeriodSeconds, deletionGracePeriodSeconds, seconds]
  }
  t.same(decide(30, 29, 0), ['yes', 29, 29, 29])
  t.same(decide(30, 30, 0), ['pending', 30, 30, 30])
  t.same(decide(30, undefined, 0), ['pending', 30, 30, 30])
  t.same(decide(30, 10, 10_000), ['yes', 10, 10, 10], 'it would have ended just now')
  t.same(decide(30, 10, 11_000), ['yes', 10, 1, 11], 'it would have ended before')
  t.same(decide(30, 0, 11_000), ['yes', 0, 0, 11])
  for (const asked of [undefined, 0, 5])
    for (const stored of [undefined, 0])
      t.same(decide(stored, asked, 0), ['no', asked, stored, 30], 'its grace is over')
  t.same(decide(-5, undefined, 0), ['pending', 1, 1, 30])
  const nowhere = definitionWith({})
  t.same(decide(30, 5, 0, nowhere), ['no', 5, 30, 30], 'another kind waits for nothing')
})

t.test('a kind decides whether it ends gracefully, and then how long that takes', async (t) => {
  const live = (): KubeObject => ({ kind: 'Pod', apiVersion: 'v1', metadata: { generation: 1 } })
  const never = definitionWith({ checkGracefulDelete: () => false })
  const object = live()
  t.equal(beforeDelete(object, {}, { definition: never, now }), 'no')
  t.same(object, live())
  const silent = definitionWith({ checkGracefulDelete: () => true })
  t.throws(() => beforeDelete(live(), {}, { definition: silent, now }), {
    code: 500,
    message: 'Internal error occurred: options.GracePeriodSeconds should not be nil',
  })
})

t.test('marking twice changes nothing', async () => {
  const object: KubeObject = { kind: 'A', apiVersion: 'v1', metadata: { generation: 3 } }
  markAsDeleting(object, now)
  const once = structuredClone(object)
  markAsDeleting(object, now + 60_000)
  t.same(object, once)
  t.equal(object.metadata.generation, 4)
})

t.test(
  'finalizers of others keep their place, and at most one of the collector is there',
  async () => {
    const names = fc.constantFrom('orphan', 'foregroundDeletion', 'x.io/a', 'x.io/b')
    const options: fc.Arbitrary<DeleteOptions> = fc.oneof(
      fc.constant({}),
      fc.boolean().map((orphanDependents) => ({ orphanDependents })),
      fc
        .constantFrom('Foreground', 'Background', 'Orphan')
        .map((propagationPolicy) => ({ propagationPolicy })),
    )
    const policies = fc.constantFrom<Strategy['defaultGarbageCollection']>(
      undefined,
      'orphan',
      'unsupported',
    )
    fc.assert(
      fc.property(fc.uniqueArray(names), options, policies, (finalizers, asked, policy) => {
        fc.pre(!(finalizers.includes('orphan') && finalizers.includes('foregroundDeletion')))
        const object: KubeObject = { kind: 'A', apiVersion: 'v1', metadata: { finalizers } }
        const definition = definitionWith({ defaultGarbageCollection: policy })
        const next = deletionFinalizers(object, asked, definition)
        const isOther = (f: string): boolean => f.startsWith('x.io/')
        const again = deletionFinalizers(
          { ...object, metadata: { finalizers: [...next] } },
          asked,
          definition,
        )
        return (
          JSON.stringify(next.filter(isOther)) === JSON.stringify(finalizers.filter(isOther)) &&
          next.filter((f) => !isOther(f)).length <= 1 &&
          JSON.stringify(again) === JSON.stringify(next)
        )
      }),
    )
  },
)

t.test('a continue token comes back as it was, and takes nobody out of its prefix', async (t) => {
  const prefix = '/registry/configmaps/x/'
  const segment = fc.stringMatching(/^[a-zé][a-zé.-]{0,20}$/)
  fc.assert(
    fc.property(fc.integer({ min: 1 }), segment, (revision, name) => {
      const token = { revision, startKey: `${prefix}${name}\0` }
      const back = decodeContinue(encodeContinue(token, prefix), prefix)
      return back.revision === revision && back.startKey === token.startKey
    }),
  )
  for (const start of ['../a', 'a/../b', './a', 'a//b']) {
    const raw = Buffer.from(JSON.stringify({ v: 'meta.k8s.io/v1', rv: 1, start }))
    t.throws(() => decodeContinue(raw.toString('base64url'), prefix), { code: 400 }, start)
  }
})
