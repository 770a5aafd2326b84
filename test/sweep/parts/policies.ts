/** Policies with random expressions: which are refused, and what those that are not make of requests in the sweep's namespace. */
import { type Dice, given } from '../../dice.js'
import { remove } from '../subjects.js'
import { namespace, type Part, type Sweep } from '../sweep.js'
import type { Request } from '../target.js'

const group = '/apis/admissionregistration.k8s.io/v1'
const maps = `/api/v1/namespaces/${namespace}/configmaps`

const conditions = [
  ...[
    'true',
    'false',
    '1',
    '',
    'object.x',
    'has(object.data)',
    'object.data.a == "1"',
    'object ==',
  ],
  ...[
    'object.data.size() < 2',
    'oldObject == null',
    'request.operation == "CREATE"',
    'request.x == 1',
  ],
  ...[
    'object.metadata.name.startsWith("a")',
    'params == null',
    'variables.v == 1',
    'variables.none',
  ],
  ...[
    'namespaceObject.metadata.name == "sweep"',
    'authorizer.group("").resource("pods").check("get").allowed()',
  ],
  ...[
    'object.metadata.labels.all(k, k == "a")',
    '"x" in object.data',
    'object.data["b"].matches("^[0-9]+$")',
  ],
  ...[
    'object.?data.?a.orValue("") != "2"',
    '1 / 0 == 1',
    'int(object.data.a) > 1',
    'object.data.map(k, k)',
  ],
  ...['request.userInfo.groups.exists(g, g == "system:masters")', 'quantity("1").isInteger()'],
]
const messageExpressions = [
  '"got " + object.data.a',
  '1',
  '""',
  '"a\\nb"',
  'object.data',
  'string(request.dryRun)',
]
const reasons = ['Unauthorized', 'Forbidden', 'Invalid', 'RequestEntityTooLarge', 'Nope']
const mutations = [
  'Object{data: {"added": "x"}}',
  'Object{metadata: Object.metadata{labels: {"added": object.metadata.name}}}',
  'Object{data: object.data}',
  'Object{metadata: Object.metadata{name: "x"}}',
  'Object{metadata: Object.metadata{finalizers: ["a/b"]}}',
  'Object{spec: Object.spec{x: 1}}',
  'Object{immutable: has(object.data)}',
  'Object{immutable: "x"}',
  'Object{data: {"added": object.data.a}}',
  'Object{}',
  'object',
  '1',
  '',
]
const patches = [
  '[JSONPatch{op: "add", path: "/metadata/labels/x", value: "y"}]',
  '[JSONPatch{op: "add", path: "/data", value: {"added": "x"}}]',
  '[JSONPatch{op: "replace", path: "/data/a", value: "9"}]',
  '[JSONPatch{op: "remove", path: "/data/a"}]',
  '[JSONPatch{op: "test", path: "/data/a", value: "1"}, JSONPatch{op: "remove", path: "/data"}]',
  '[JSONPatch{op: "copy", from: "/data/a", path: "/data/c"}]',
  '[JSONPatch{op: "add", path: "/data/" + jsonpatch.escapeKey("a/b"), value: "z"}]',
  '[JSONPatch{op: "nope", path: "/data"}]',
  '[JSONPatch{op: "add", path: "/kind", value: "Pod"}]',
  '[]',
  '[1]',
]

type Fields = Record<string, unknown>

const matchOf = (label: string): Fields => ({
  namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
  objectSelector: { matchLabels: { policy: label } },
  resourceRules: [
    {
      apiGroups: [''],
      apiVersions: ['v1'],
      operations: ['CREATE', 'UPDATE'],
      resources: ['configmaps'],
    },
  ],
})

const sharedOf = (label: string, dice: Dice): Fields => {
  const { maybe, pick } = dice
  return {
    failurePolicy: maybe(() => pick(['Fail', 'Ignore'])),
    matchConstraints: matchOf(label),
    matchConditions: maybe(() => [{ name: 'c', expression: pick(conditions) }], 4),
    variables: maybe(() => [
      { name: 'v', expression: pick(['1', 'object.data.a', 'variables.v']) },
    ]),
  }
}

const validationOf = ({ maybe, pick }: Dice): Fields =>
  given({
    expression: pick(conditions),
    message: maybe(() => pick(['no', '', 'a\nb']), 3),
    messageExpression: maybe(() => pick(messageExpressions), 3),
    reason: maybe(() => pick(reasons), 3),
  })

const validatingOf = (label: string, dice: Dice): Fields =>
  given({
    ...sharedOf(label, dice),
    validations: Array.from({ length: 1 + dice.below(2) }, () => validationOf(dice)),
    auditAnnotations: dice.maybe(
      () => [{ key: 'k', valueExpression: dice.pick(['"a"', 'null', '1', 'object.data.a']) }],
      5,
    ),
  })

const mutationOf = ({ pick, oneIn }: Dice): Fields =>
  oneIn(2)
    ? { patchType: 'ApplyConfiguration', applyConfiguration: { expression: pick(mutations) } }
    : { patchType: 'JSONPatch', jsonPatch: { expression: pick(patches) } }

const mutatingOf = (label: string, dice: Dice): Fields =>
  given({
    ...sharedOf(label, dice),
    reinvocationPolicy: dice.pick(['Never', 'IfNeeded']),
    mutations: Array.from({ length: 1 + dice.below(2) }, () => mutationOf(dice)),
  })

interface Sort {
  readonly policies: string
  readonly bindings: string
  make(label: string, dice: Dice): Fields
  binding(dice: Dice): Fields
  /** What is in effect as soon as the one to be looked at is: it was there first, and shows. */
  readonly sign: Fields
  readonly signBinding: Fields
  isInEffect(code: number, text: string): boolean
}

const sorts: readonly Sort[] = [
  {
    policies: `${group}/validatingadmissionpolicies`,
    bindings: `${group}/validatingadmissionpolicybindings`,
    make: validatingOf,
    binding: ({ pick }) => ({
      validationActions: pick([['Deny'], ['Warn'], ['Deny', 'Audit'], ['Warn', 'Audit']]),
    }),
    sign: { validations: [{ expression: 'false' }] },
    signBinding: { validationActions: ['Deny'] },
    isInEffect: (code) => code === 422,
  },
  {
    policies: `${group}/mutatingadmissionpolicies`,
    bindings: `${group}/mutatingadmissionpolicybindings`,
    make: mutatingOf,
    binding: () => ({}),
    sign: {
      reinvocationPolicy: 'Never',
      mutations: [
        {
          patchType: 'ApplyConfiguration',
          applyConfiguration: { expression: 'Object{data: {"sign": "1"}}' },
        },
      ],
    },
    signBinding: {},
    isInEffect: (_code, text) => text.includes('"sign":"1"'),
  },
]

const mapOf = (label: string, dice: Dice): Fields => ({
  metadata: given({ name: dice.pick(['a', 'b']), labels: { policy: label } }),
  ...given({
    data: dice.maybe(
      () => given({ a: dice.maybe(() => dice.pick(['1', '2', 'x'])), b: dice.maybe(() => '7') }),
      1 + dice.below(2),
    ),
  }),
})

const post = (path: string, body: unknown): Request => ({ method: 'POST', path, body })
const triesMax = 100
const pauseMs = 100

/** Policies are read again every second or so: the sign, made last, shows that those before it count. */
const awaitEffect = async (sweep: Sweep, sort: Sort, label: string): Promise<void> => {
  const body = { metadata: { name: 'sign', labels: { policy: label } } }
  for (let tries = 0; tries < triesMax; tries++) {
    const { server, against } = await sweep.prepare(post(`${maps}?dryRun=All`, body))
    if ([server, against].every(({ code, text }) => sort.isInEffect(code, text))) return
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
  throw new Error(`no policy counts for ${label}`)
}

const policiesAtOnce = 10
const requestsOfEach = 8

const playSort = async (sweep: Sweep, sort: Sort, round: string, dice: Dice): Promise<void> => {
  const made: string[] = []
  const shown = new Map<string, Request>()
  const make = async (label: string, spec: Fields, binding: Fields): Promise<void> => {
    const metadata = { name: `sweep-${label}` }
    const policy = post(sort.policies, { metadata, spec })
    shown.set(label, policy)
    await sweep.prepare(policy)
    await sweep.prepare(
      post(sort.bindings, { metadata, spec: { ...binding, policyName: metadata.name } }),
    )
    made.push(`${sort.bindings}/${metadata.name}`, `${sort.policies}/${metadata.name}`)
  }
  const labels = Array.from({ length: policiesAtOnce }, (_, i) => `${round}-${i}`)
  for (const label of labels) {
    const spec = sort.make(label, dice)
    const request = post(`${sort.policies}?dryRun=All`, { metadata: { name: 'sweep-dry' }, spec })
    await sweep.compare({ where: sort.policies.split('/').at(-1)!, request })
    await make(label, spec, sort.binding(dice))
  }
  const sign = `${round}-sign`
  await make(sign, { ...sort.sign, matchConstraints: matchOf(sign) }, sort.signBinding)
  await awaitEffect(sweep, sort, sign)
  await sweep.compareAll(
    labels.flatMap((label) =>
      Array.from({ length: requestsOfEach }, () => ({
        where: `request under ${sort.policies.split('/').at(-1)!}`,
        request: post(`${maps}?dryRun=All`, mapOf(label, dice)),
        before: [shown.get(label)!],
      })),
    ),
  )
  for (const url of made) await remove(sweep, url)
}

const roundsAtFullShare = 40

export const policies: Part = {
  name: 'policies',
  play: async (sweep, dice) => {
    const count = Math.ceil(roundsAtFullShare * sweep.share)
    for (let i = 0; i < count; i++)
      for (const sort of sorts) await playSort(sweep, sort, `p${sweep.seed}-${i}`, dice)
  },
}
