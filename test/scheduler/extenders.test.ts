/** Other servers have a say in where Pods go, as kube-scheduler v1.36.3 asks them; all of this was seen beside it. */
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import type { Client } from '#client/client.js'
import type { Pod } from '#client/pod.js'
import { resources } from '#client/resources.js'
import { type Issued, issueCertificate } from '#net/x509.js'
import { eventually } from '../eventually.js'
import {
  type Answer,
  make,
  namespace,
  nodeOf,
  podOf,
  type Question,
  startExtended,
  startExtender,
  toldOf,
} from './extender-server.js'

const known = { nodeCacheCapable: true }
const priorityClasses = {
  group: 'scheduling.k8s.io',
  version: 'v1',
  resource: 'priorityclasses',
  kind: 'PriorityClass',
  namespaced: false,
}

t.test('an extender that knows the nodes is asked by their names', async (t) => {
  const { url, asked } = await startExtender(t, ({ verb, question }) =>
    verb === 'filter'
      ? // Names of fields are taken in any case.
        { nodenames: question.NodeNames }
      : [
          { Host: 'a', Score: 10 },
          { Host: 'unknown', Score: 10 },
        ],
  )
  const client = await startExtended(t, [
    {
      urlPrefix: `${url}/`,
      filterVerb: 'filter',
      prioritizeVerb: 'prioritize',
      weight: 5,
      ...known,
    },
  ])
  await make(client, 'there', { nodeName: 'a', requests: { cpu: '3' } })
  const { metadata } = await make(client, 'p')
  t.equal(await nodeOf(client, 'p'), 'a', 'though more of b is free')
  t.strictSame(
    asked.map(({ verb, question: { Pod, NodeNames, Nodes } }) => [
      verb,
      Pod.metadata.uid,
      Pod.kind,
      [...NodeNames!].sort(),
      Nodes,
    ]),
    ['filter', 'prioritize'].map((verb) => [verb, metadata.uid, undefined, ['a', 'b'], null]),
  )
})

t.test('another one is given the nodes, and what it gives back is taken for empty', async (t) => {
  const { url, asked } = await startExtender(t, ({ verb, question }) =>
    verb === 'filter' ? { Nodes: question.Nodes } : [{ Host: 'a', Score: 1 }],
  )
  const client = await startExtended(t, [
    { urlPrefix: url, filterVerb: 'filter', prioritizeVerb: 'prioritize', weight: 1 },
  ])
  await make(client, 'there', { nodeName: 'a', requests: { cpu: '3' } })
  await make(client, 'p')
  t.equal(await nodeOf(client, 'p'), 'a', 'ten points are more than nothing')
  const [{ question }] = asked as [(typeof asked)[0]]
  t.equal(question.NodeNames, null)
  t.match(question.Nodes!.items.find((node) => node.metadata.name === 'b')?.status, {
    allocatable: { cpu: '4' },
  })
})

t.test('nodes are refused in its words, and any change lets it be asked again', async (t) => {
  let isOpen = false
  const { url } = await startExtender(t, () =>
    isOpen
      ? { NodeNames: ['b'] }
      : {
          FailedNodes: { a: 'no licence', b: 'not yet' },
          FailedAndUnresolvableNodes: { b: 'never' },
        },
  )
  const client = await startExtended(t, [{ urlPrefix: url, filterVerb: 'filter', ...known }])
  await make(client, 'p')
  t.strictSame(await toldOf(client, 'p'), {
    reason: 'Unschedulable',
    message:
      '0/2 nodes are available: 1 never, 1 no licence. no new claims to deallocate, preemption: 0/2 nodes are available: 1 No preemption victims found for incoming pod, 1 Preemption is not helpful for scheduling.',
  })
  isOpen = true
  await client.patch(
    resources.nodes,
    { name: 'a' },
    { metadata: { annotations: { any: 'thing' } } },
    { type: 'merge' },
  )
  t.equal(await nodeOf(client, 'p'), 'b')
})

t.test('nobody leaves a node for a Pod that an extender refuses', async (t) => {
  const { url } = await startExtender(t, () => ({ FailedNodes: { a: 'no' } }))
  const client = await startExtended(t, [{ urlPrefix: url, filterVerb: 'filter', ...known }])
  await client.create(priorityClasses, { metadata: { name: 'high' }, value: 9 })
  await make(client, 'there', { nodeName: 'a' })
  await make(client, 'p', { priorityClassName: 'high' })
  t.strictSame(await toldOf(client, 'p'), {
    reason: 'Unschedulable',
    message:
      '0/2 nodes are available: 1 no. preemption: expected at least one victim pod on node "a"',
  })
})

t.test('a Pod is told what went wrong with an extender, and is tried again', async (t) => {
  const answers: [answer: ReturnType<Answer>, problem: string][] = [
    [{ Error: 'I am ill' }, 'I am ill'],
    [503, 'failed filter with extender at URL ADDRESS/filter, code 503'],
    ['', 'EOF'],
    ['{"NodeNames": ["a"', 'unexpected EOF'],
    ['{"NodeNames": nope}', "invalid character 'o' in literal null (expecting 'u')"],
    [
      { NodeNames: 'a' },
      'json: cannot unmarshal string into Go struct field ExtenderFilterResult.NodeNames of type []string',
    ],
    [
      { NodeNames: ['zz'] },
      'extender "ADDRESS" claims a filtered node "zz" which is not found in the input node list',
    ],
  ]
  let answer: ReturnType<Answer> = 0
  const { url } = await startExtender(t, () => answer)
  const client = await startExtended(t, [{ urlPrefix: url, filterVerb: 'filter', ...known }])
  for (const [i, [said, problem]] of answers.entries()) {
    answer = said
    await make(client, `p${i}`)
    const told = { reason: 'SchedulerError', message: problem.replace('ADDRESS', url) }
    t.strictSame(await toldOf(client, `p${i}`), told, problem)
    answer = { NodeNames: ['b'] }
    t.equal(await nodeOf(client, `p${i}`), 'b')
  }
})

t.test('one that is not there, takes too long, or has no address', async (t) => {
  const never = new Promise<object>(() => {})
  const { url } = await startExtender(t, () => never)
  const cases = [
    [
      { urlPrefix: 'http://127.0.0.1:1' },
      'Post "http://127.0.0.1:1/f": dial tcp 127.0.0.1:1: connect: connection refused',
    ],
    [
      { urlPrefix: url, httpTimeout: '300ms' },
      `Post "${url}/f": context deadline exceeded (Client.Timeout exceeded while awaiting headers)`,
    ],
    [{ urlPrefix: 'node' }, 'Post "node/f": unsupported protocol scheme ""'],
  ] as const
  for (const [extender, message] of cases)
    await t.test(message, async (t) => {
      const client = await startExtended(t, [{ filterVerb: 'f', ...extender }])
      await make(client, 'p')
      t.strictSame(await toldOf(client, 'p'), { reason: 'SchedulerError', message })
    })
})

t.test('the scheduler goes on without those that are ignorable, and asks them last', async (t) => {
  const order: string[] = []
  const one = (name: string, answer: object | number) =>
    startExtender(t, ({ verb }) => {
      order.push(`${name} ${verb}`)
      return answer
    })
  const ill = await one('ill', 500)
  const well = await one('well', { NodeNames: ['b'] })
  const client = await startExtended(t, [
    { urlPrefix: ill.url, filterVerb: 'filter', bindVerb: 'bind', ignorable: true, ...known },
    { urlPrefix: well.url, filterVerb: 'filter', ...known },
  ])
  await make(client, 'p')
  t.equal(await nodeOf(client, 'p'), 'b')
  t.strictSame(order, ['well filter', 'ill filter', 'ill bind'])
})

const bindAsAsked =
  (client: () => Client): Answer =>
  async ({ question: { PodName: name, PodNamespace, PodUID: uid, Node } }) => {
    await client().create(
      resources.pods,
      {
        apiVersion: 'v1',
        kind: 'Binding',
        metadata: { name, namespace: PodNamespace, uid },
        target: { kind: 'Node', name: Node },
      },
      { name, subresource: 'binding' },
    )
    return {}
  }

t.test('an extender may bind Pods', async (t) => {
  let client: Client | undefined
  let isIll = true
  const bind = bindAsAsked(() => client!)
  const { url, asked } = await startExtender(t, (one) =>
    isIll ? { Error: 'cannot bind' } : bind(one),
  )
  client = await startExtended(t, [{ urlPrefix: url, bindVerb: 'bind', ...known }])
  const { metadata } = await make(client, 'p')
  t.strictSame(await toldOf(client, 'p'), { reason: 'SchedulerError', message: 'cannot bind' })
  isIll = false
  const node = await nodeOf(client, 'p')
  t.strictSame(asked.at(-1), {
    verb: 'bind',
    question: { PodName: 'p', PodNamespace: namespace, PodUID: metadata.uid, Node: node },
  })
  await eventually('it is told', async () => {
    const { items } = await client.list<{ reason: string } & Pod>(resources.events, { namespace })
    return items.some(({ reason }) => reason === 'Scheduled')
  })
})

/** Both nodes are full of Pods of lower priority, and one comes. */
const crowd = async (client: Client): Promise<void> => {
  await client.create(priorityClasses, { metadata: { name: 'high' }, value: 9 })
  for (const nodeName of ['a', 'b'])
    await make(client, `on-${nodeName}`, { nodeName, requests: { cpu: '4' } })
  await make(client, 'p', { priorityClassName: 'high', requests: { cpu: '2' } })
}
const noRoom = '0/2 nodes are available: 2 Insufficient cpu.'

for (const isKnown of [true, false])
  t.test(
    `an extender that ${isKnown ? 'knows' : 'does not know'} nodes chooses who leaves`,
    async (t) => {
      const { url, asked } = await startExtender(t, ({ question }) => {
        const { Pods } = (question.NodeNameToMetaVictims ?? question.NodeNameToVictims)!.b!
        const uids = Pods.map(({ UID, metadata }) => ({ UID: UID ?? metadata?.uid }))
        return { NodeNameToMetaVictims: { b: { Pods: uids } } }
      })
      const client = await startExtended(t, [
        { urlPrefix: url, preemptVerb: 'preempt', nodeCacheCapable: isKnown },
      ])
      await crowd(client)
      t.equal(await nodeOf(client, 'p'), 'b')
      t.equal((await podOf(client, 'on-a')).metadata.deletionTimestamp, undefined)
      const { NodeNameToVictims: whole, NodeNameToMetaVictims: named } = asked[0]!.question
      const { uid } = (await podOf(client, 'on-a')).metadata
      t.match(
        isKnown ? { whole, named: named?.a } : { whole: whole?.a, named },
        isKnown
          ? { whole: null, named: { Pods: [{ UID: uid }], NumPDBViolations: 0 } }
          : { whole: { Pods: [{ metadata: { name: 'on-a' } }], NumPDBViolations: 0 }, named: null },
      )
    },
  )

t.test('where it leaves nobody to go, nobody goes', async (t) => {
  const missing = { Pods: [{ UID: 'x' }] }
  const cases: readonly (readonly [answer: object | number, problem: string, options?: object])[] =
    [
      [{}, 'no candidate node for preemption'],
      [
        { NodeNameToMetaVictims: { a: {} } },
        'no candidate node for preemption',
        { ignorable: true },
      ],
      [{ NodeNameToMetaVictims: { a: {} } }, 'expected at least one victim pod on node "a"'],
      [
        { NodeNameToMetaVictims: { a: missing } },
        'extender: ADDRESS claims to preempt pod (UID: &{x}) on node: a, but the pod is not found on that node',
      ],
      [{ NodeNameToMetaVictims: { c: missing } }, 'nodeinfo not found for node name "c"'],
      [500, 'failed preempt with extender at URL ADDRESS/preempt, code 500'],
    ]
  for (const [answer, problem, options] of cases)
    await t.test(problem, async (t) => {
      const { url } = await startExtender(t, () => answer)
      const client = await startExtended(t, [
        { urlPrefix: url, preemptVerb: 'preempt', ...known, ...options },
      ])
      await crowd(client)
      const { message } = await toldOf(client, 'p')
      const said = problem.replace('ADDRESS', url)
      const others = typeof answer === 'object' && problem.startsWith('no ')
      t.equal(
        message,
        `${noRoom} ${others ? 'no new claims to deallocate, ' : ''}preemption: ${said}`,
      )
    })
})

t.test('what changes while an extender thinks is not lost', async (t) => {
  let isAsked = false
  let answer = (): void => {}
  const answered = new Promise<object>((resolve) => {
    answer = () => resolve({})
  })
  const { url } = await startExtender(t, () => {
    isAsked = true
    return answered
  })
  const client = await startExtended(t, [
    { urlPrefix: url, preemptVerb: 'preempt', httpTimeout: '5m', ...known },
  ])
  await crowd(client)
  await eventually('it is asked', () => isAsked)
  const capacity = { cpu: '4', memory: '8Gi', pods: '10' }
  await client.create(resources.nodes, {
    metadata: { name: 'c' },
    status: { capacity, allocatable: capacity },
  })
  // If its watch tells of the node later, this shows nothing.
  await setTimeout(200)
  answer()
  t.equal(await nodeOf(client, 'p'), 'c')
})

t.test('nothing is kept for a Pod that goes while an extender thinks', async (t) => {
  let asked: Question | undefined
  let isGone = (): void => {}
  const gone = new Promise<void>((resolve) => (isGone = resolve))
  const { url } = await startExtender(t, async ({ question }) => {
    asked = question
    await gone
    return { NodeNameToMetaVictims: { b: question.NodeNameToMetaVictims!.b! } }
  })
  const client = await startExtended(t, [
    { urlPrefix: url, preemptVerb: 'preempt', httpTimeout: '5m', ...known },
  ])
  await crowd(client)
  await eventually('it is asked', () => asked)
  await client.delete(resources.pods, { namespace, name: 'p' })
  // If its watch tells of that later, this shows nothing.
  await setTimeout(200)
  isGone()
  await eventually('there is room', async () => {
    const { items } = await client.list<Pod>(resources.pods, { namespace })
    return !items.some(({ metadata }) => metadata.name === 'on-b')
  })
  await make(client, 'q', { requests: { cpu: '4' } })
  t.equal(await nodeOf(client, 'q'), 'b')
})

t.test(
  'it is asked about Pods that want what it looks after, and about all if that is nothing',
  async (t) => {
    const { url, asked } = await startExtender(t, () => ({ NodeNames: ['b'] }))
    const name = 'example.com/x'
    const client = await startExtended(t, [
      {
        urlPrefix: url,
        filterVerb: 'filter',
        managedResources: [{ name, ignoredByScheduler: true }],
        ...known,
      },
    ])
    await make(client, 'other')
    await nodeOf(client, 'other')
    t.strictSame(asked, [])
    await make(client, 'p', { requests: { [name]: '6' } })
    t.equal(await nodeOf(client, 'p'), 'b', 'though no node has so many')
  },
)

t.test('it is asked over TLS, and shown a certificate', async (t) => {
  const folder = t.testdir()
  const life = { notBeforeMs: Date.UTC(2020, 0), notAfterMs: Date.UTC(2100, 0) }
  const issuer = issueCertificate({ ...life, use: 'authority', subject: { commonName: 'ca' } })
  const [shown, own] = (['server', 'client'] as const).map((use) =>
    issueCertificate({
      ...life,
      use,
      subject: { commonName: use },
      names: ['127.0.0.1'],
      issuer,
    }),
  ) as [Issued, Issued]
  const server = { cert: shown.certPem, key: shown.keyPem, ca: issuer.certPem }
  const files = { caFile: issuer.certPem, certFile: own.certPem, keyFile: own.keyPem }
  const fileOf = (name: string): string => path.join(folder, name)
  for (const [name, text] of Object.entries(files)) writeFileSync(fileOf(name), text)
  const pair = { certFile: fileOf('certFile'), keyFile: fileOf('keyFile') }
  const [caFile, caData] = [fileOf('caFile'), Buffer.from(issuer.certPem).toString('base64')]
  const nameOf = 'tls: failed to verify certificate: x509:'
  const cases: readonly (readonly [name: string, extender: object, problem?: string])[] = [
    ['unchecked', { enableHTTPS: true, tlsConfig: pair }],
    ['by a file', { tlsConfig: { caFile, ...pair } }],
    ['by data', { tlsConfig: { caData, ...pair } }],
    ['unknown', { tlsConfig: pair }, `${nameOf} certificate signed by unknown authority`],
    [
      'misnamed',
      { tlsConfig: { caFile, serverName: 'other', ...pair } },
      `${nameOf} certificate is not valid for any names, but wanted to match other`,
    ],
  ]
  for (const [name, extender, problem] of cases)
    await t.test(name, async (t) => {
      const { url } = await startExtender(t, () => ({ NodeNames: ['b'] }), {
        ...server,
        requestCert: true,
        rejectUnauthorized: true,
      })
      const client = await startExtended(t, [
        { urlPrefix: url, filterVerb: 'filter', ...known, ...extender },
      ])
      await make(client, 'p')
      if (problem === undefined) t.equal(await nodeOf(client, 'p'), 'b')
      else t.equal((await toldOf(client, 'p')).message, `Post "${url}/filter": ${problem}`)
    })
})
