/** Rounds of StatefulSets that find their Pods in any state: what each may do, and where they lead. */
import fc from 'fast-check'
import t from 'tap'
import {
  type Observed,
  planStatefulSet,
  statefulSetStatus,
} from '#controllers/statefulset/reconcile.js'
import { jsonEqual } from '#json/object.js'
import { storedMetadata } from '../stored-metadata.js'
import { storedPod } from './stored-pod.js'

interface Member {
  ordinal: number
  revision: 'old' | 'new'
  /** Ready since just now, or for long. */
  state: 'pending' | 'ready' | 'available' | 'failed'
  ends: boolean
}

const world = fc.record({
  replicas: fc.nat(4),
  start: fc.nat(2),
  partition: fc.nat(5),
  isOrdered: fc.boolean(),
  isOnDelete: fc.boolean(),
  minReadySeconds: fc.constantFrom(0, 10),
  members: fc.uniqueArray(
    fc.record<Member>({
      ordinal: fc.nat(7),
      revision: fc.constantFrom('old', 'new'),
      state: fc.constantFrom('pending', 'ready', 'available', 'failed'),
      ends: fc.boolean(),
    }),
    { selector: ({ ordinal }) => ordinal },
  ),
  // Which of those that may go on does so next.
  steps: fc.infiniteStream(fc.nat()),
})
type World = typeof world extends fc.Arbitrary<infer W> ? W : never

const now = Date.parse('2026-01-01T00:00:00Z')
const since = { ready: '2026-01-01T00:00:00Z', available: '2025-01-01T00:00:00Z' }

const podOf = ({ ordinal, revision, state, ends }: Member) => {
  const isReady = state === 'ready' || state === 'available'
  return storedPod(`db-${ordinal}`, {
    metadata: {
      labels: { 'controller-revision-hash': revision },
      ...(ends ? { deletionTimestamp: since.ready } : {}),
    },
    status: {
      phase: isReady ? 'Running' : state === 'failed' ? 'Failed' : 'Pending',
      conditions: isReady
        ? [{ type: 'Ready', status: 'True', lastTransitionTime: since[state] }]
        : [],
    },
  })
}

const observed = ({ members, replicas, start, partition, ...rest }: World): Observed => {
  const { isOrdered, isOnDelete, minReadySeconds } = rest
  return {
    set: {
      ...{ kind: 'StatefulSet', apiVersion: 'apps/v1' },
      metadata: storedMetadata({ name: 'db', namespace: 'ns' }),
      spec: {
        ...{ replicas, minReadySeconds, ordinals: { start } },
        podManagementPolicy: isOrdered ? 'OrderedReady' : 'Parallel',
        updateStrategy: isOnDelete
          ? { type: 'OnDelete' }
          : { type: 'RollingUpdate', rollingUpdate: { partition } },
        selector: {},
        template: { spec: { containers: [] } },
      },
      status: {},
    },
    pods: members.map(podOf),
    ...{ currentRevision: 'old', updateRevision: 'new', claims: () => 'ready', now },
  }
}

const plan = (here: World) =>
  planStatefulSet(observed(here)).filter(({ do: what }) => what === 'create' || what === 'delete')

const must = (holds: boolean, what: string): void => {
  if (!holds) throw new Error(what)
}

/** What is told of the set, which has the new template as its own once all of it is of that and well. */
const checkStatus = (here: World): void => {
  const { members, replicas, isOnDelete, minReadySeconds } = here
  const status = statefulSetStatus(observed(here), undefined)
  const count = (counts: (member: Member) => boolean): number => members.filter(counts).length
  const ready = count(({ state }) => state === 'ready' || state === 'available')
  const updated = count(({ revision, ends }) => revision === 'new' && !ends)
  const isComplete =
    !isOnDelete && [members.length, ready, updated].every((many) => many === replicas)
  const told = [status.replicas, status.readyReplicas, status.updatedReplicas].map((n) => n ?? 0)
  must(jsonEqual(told, [members.length, ready, updated]), 'how many there are')
  const available = minReadySeconds === 0 ? ready : count(({ state }) => state === 'available')
  must(status.availableReplicas === available, 'how many are ready for long enough')
  must(status.currentRevision === (isComplete ? 'new' : 'old'), 'of which template the set is')
  const current = isComplete ? updated : count(({ revision, ends }) => revision === 'old' && !ends)
  must((status.currentReplicas ?? 0) === current, 'how many are of it')
}

const isWantedOf =
  ({ start, replicas }: World) =>
  ({ ordinal }: Member): boolean =>
    ordinal >= start && ordinal < start + replicas

/** Carries out one round, and throws at what a StatefulSet promises not to do. */
const round = (here: World): void => {
  const { members, replicas, start, partition, isOrdered, isOnDelete, minReadySeconds } = here
  const before = members.map((member) => ({ ...member }))
  const isHealthy = ({ state, ends }: Member): boolean =>
    !ends && (state === 'available' || (state === 'ready' && minReadySeconds === 0))
  const isWanted = isWantedOf(here)
  const isUpdated = ({ ordinal, revision }: Member): boolean =>
    isOnDelete || ordinal < start + partition || revision === 'new'
  const wanted = before.filter(isWanted)
  const areThere = wanted.length === replicas && wanted.every(isHealthy)
  const actions = plan(here)
  must(!isOrdered || actions.length <= 1, 'an ordered set does one thing at a time')
  let updates = 0
  for (const action of actions) {
    if (action.do === 'create') {
      const { ordinal, revision } = action
      const old = !isOnDelete && ordinal < start + partition
      must(revision === (old ? 'old' : 'new'), 'below the partition the old template stays')
      must(ordinal >= start && ordinal < start + replicas, 'no more than were asked for')
      must(!members.some((one) => one.ordinal === ordinal), 'one object of a name')
      const lower = wanted.filter((one) => one.ordinal < ordinal)
      must(
        !isOrdered || (lower.length === ordinal - start && lower.every(isHealthy)),
        'those before it are there',
      )
      members.push({ ordinal, revision: old ? 'old' : 'new', state: 'pending', ends: false })
      continue
    }
    if (action.do !== 'delete') continue
    const gone = before.find(({ ordinal }) => action.pod.metadata.name === `db-${ordinal}`)!
    must(!gone.ends, 'none is deleted twice')
    members.find(({ ordinal }) => ordinal === gone.ordinal)!.ends = true
    if (isWanted(gone)) {
      if (gone.state === 'failed') continue
      must(!isUpdated(gone), 'only what has the old template is replaced')
      must(updates++ === 0, 'one is replaced at a time')
      const higher = wanted.filter(({ ordinal }) => ordinal > gone.ordinal)
      must(
        higher.length === start + replicas - 1 - gone.ordinal &&
          higher.every((one) => isHealthy(one) && (isUpdated(one) || one.ends)),
        'those after it have been replaced and are there',
      )
      must(!isOrdered || before.every(isWanted), 'the set is as small as it should be')
    } else if (isOrdered) {
      const others = before.filter((one) => !isWanted(one) && one !== gone)
      must(areThere, 'the set shrinks when those that stay are there')
      must(
        others.every(({ ordinal }) => ordinal < gone.ordinal),
        'the last goes first',
      )
      must(
        isHealthy(gone) || others.every(isHealthy),
        'one that is not well waits for those that are not either',
      )
    }
  }
}

/** False when nothing is left to happen by itself. */
const goOn = ({ members, steps }: World): boolean => {
  const open = members.filter(({ state, ends }) => ends || state === 'pending' || state === 'ready')
  const one = open[steps.next().value % open.length]
  if (one === undefined) return false
  if (one.ends) members.splice(members.indexOf(one), 1)
  else one.state = one.state === 'pending' ? 'ready' : 'available'
  return true
}

/** Two that failed beyond the size of an ordered set wait for each other, upstream, too. */
const isStuck = (here: World): boolean => {
  const isWanted = isWantedOf(here)
  const failed = here.members.filter((one) => one.state === 'failed' && !one.ends && !isWanted(one))
  return here.isOrdered && failed.length > 1
}

t.test('a StatefulSet keeps its promises on the way from any state to what was asked for', (t) => {
  const promises = fc.property(world, (here) => {
    const { replicas, start, partition, isOnDelete } = here
    fc.pre(!isStuck(here))
    for (let rounds = 0; rounds < 200; rounds++) {
      checkStatus(here)
      round(here)
      if (!goOn(here) && plan(here).length === 0) break
    }
    const { members } = here
    must(members.length === replicas && members.every(isWantedOf(here)), 'all are there')
    must(
      members.every(({ state, ends }) => state === 'available' && !ends),
      'and well',
    )
    const mayBeOld = (ordinal: number): boolean => isOnDelete || ordinal < start + partition
    must(
      members.every(({ ordinal, revision }) => revision === 'new' || mayBeOld(ordinal)),
      'and of the new template',
    )
  })
  fc.assert(promises, { numRuns: 500 })
  t.end()
})
