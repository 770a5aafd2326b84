/** Random requests for what is there: verbs, parameters of the query and options in bodies, right, wrong and together. */
import type { Dice } from '../../dice.js'
import { given } from '../../dice.js'
import type { Example } from '../report.js'
import { remove } from '../subjects.js'
import { namespace, type Part, type Sweep } from '../sweep.js'
import type { Request } from '../target.js'

const values: Readonly<Record<string, readonly string[]>> = {
  fieldSelector: [
    ...[
      'metadata.name=a',
      'metadata.name==a',
      'metadata.name!=a',
      'metadata.name',
      'x=y',
      '=',
      'a=b=c',
    ],
    ...[
      'metadata.name=a,metadata.namespace=default',
      'metadata.name=a\\,b',
      'metadata.name=a\\',
      ',',
    ],
    ...[
      'metadata.name in (a)',
      ' metadata.name = a ',
      'metadata.uid=x',
      'spec.nodeName=',
      'reason=x',
    ],
    ...['status.phase=Pending', 'spec.unschedulable=false', 'involvedObject.name=a', 'type=Opaque'],
    ...[
      'status.successful=1',
      'spec.restartPolicy=Always',
      'spec.schedulerName=x',
      'status.podIP=1',
    ],
    ...['spec.hostNetwork=true'],
  ],
  labelSelector: [
    ...[
      'a',
      '!a',
      'a=b',
      'a==b',
      'a!=b',
      'a in (b,c)',
      'a notin (b)',
      'a in ()',
      'a in (',
      'a>1',
      'a<x',
    ],
    ...[
      'a in (b),c',
      'A B',
      'a=',
      'a=b c',
      ',',
      'a,,b',
      '!',
      'a=b,',
      'x/y/z=b',
      `a=${'x'.repeat(64)}`,
    ],
    ...['a in (b', 'in=in', 'a in b', '(', 'a = b', 'a exists', 'a>', 'a>01', '-a'],
  ],
  limit: ['1', '0', '-1', 'x', '1.5', '9223372036854775808', ''],
  continue: ['x', '', '!!!'],
  resourceVersion: ['0', '', 'x', '-1', '999999999', '18446744073709551616'],
  resourceVersionMatch: ['Exact', 'NotOlderThan', 'x', ''],
  timeoutSeconds: ['1', '0', '-1', 'x'],
  watch: ['false', '0', 'x', ''],
  allowWatchBookmarks: ['true', 'x'],
  sendInitialEvents: ['true', 'false', 'x', ''],
  pretty: ['true', '1', 'x', 'false', ''],
  dryRun: ['All', 'x', '', 'all'],
  fieldValidation: ['Strict', 'Warn', 'Ignore', 'x', '', 'strict'],
  fieldManager: ['a', '', 'x'.repeat(129), 'a\0b', 'é', 'a b', '\n'],
  force: ['true', 'x', '', 'false'],
  gracePeriodSeconds: ['0', '-1', '30', 'x', '', '1.5', '9223372036854775808'],
  propagationPolicy: ['Orphan', 'Background', 'Foreground', 'x', '', 'orphan'],
  orphanDependents: ['true', 'false', 'x', ''],
  ignoreStoreReadErrorWithClusterBreakingPotential: ['true', 'false', 'x'],
  shardSelector: ['x', ''],
  includeObject: ['None', 'Object', 'Metadata', 'x', ''],
  unknown: ['x'],
}

const media = [
  ...[
    'application/json',
    'application/yaml',
    'application/*',
    '*/*',
    'text/plain',
    'application/xml',
  ],
  ...[
    'application/json;as=Table;v=v1;g=meta.k8s.io',
    'application/json;as=Table;v=v2;g=meta.k8s.io',
  ],
  ...['application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io', 'application/json;as=x'],
  ...[
    'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io',
    'application/json;pretty=1',
  ],
  ...[
    'application/yaml;as=Table;v=v1;g=meta.k8s.io',
    'application/json;q=0.1,application/yaml;q=0.9',
  ],
  ...['text/html, application/json', 'application/cbor', 'application/json;stream=watch', ''],
]

const list = [
  ...[
    'fieldSelector',
    'labelSelector',
    'limit',
    'continue',
    'resourceVersion',
    'resourceVersionMatch',
  ],
  ...['timeoutSeconds', 'sendInitialEvents'],
]
const written = ['dryRun', 'fieldValidation', 'fieldManager', 'pretty', 'force', 'unknown']
const removed = [
  ...['dryRun', 'gracePeriodSeconds', 'propagationPolicy', 'orphanDependents', 'pretty'],
  'ignoreStoreReadErrorWithClusterBreakingPotential',
]

interface Thing {
  readonly collection: string
  readonly apiVersion: string
  readonly kind: string
  readonly body: { readonly metadata: object }
}

const name = 'asked'
const labels = { a: 'b' }
const metadata = { name, labels }
const spec = { containers: [{ name: 'c', image: 'i' }] }
const core = `/api/v1/namespaces/${namespace}`
const things: readonly Thing[] = [
  { collection: `${core}/configmaps`, apiVersion: 'v1', kind: 'ConfigMap', body: { metadata } },
  { collection: `${core}/secrets`, apiVersion: 'v1', kind: 'Secret', body: { metadata } },
  { collection: '/api/v1/nodes', apiVersion: 'v1', kind: 'Node', body: { metadata } },
  {
    collection: `${core}/pods`,
    apiVersion: 'v1',
    kind: 'Pod',
    body: { metadata, ...{ spec } },
  },
  {
    collection: `${core}/events`,
    apiVersion: 'v1',
    kind: 'Event',
    body: { metadata, ...{ involvedObject: { namespace, name: 'a' } } },
  },
  {
    collection: `/apis/apps/v1/namespaces/${namespace}/deployments`,
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    body: {
      metadata,
      ...{ spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec } } },
    },
  },
  {
    collection: `/apis/batch/v1/namespaces/${namespace}/jobs`,
    apiVersion: 'batch/v1',
    kind: 'Job',
    body: { metadata, ...{ spec: { template: { spec: { ...spec, restartPolicy: 'Never' } } } } },
  },
]

const optionsOfDelete: readonly unknown[] = [
  ...[
    undefined,
    undefined,
    {},
    'x',
    '',
    '[]',
    'null',
    '{"gracePeriodSeconds":1,"gracePeriodSeconds":2}',
  ],
  ...[{ dryRun: ['All'] }, { dryRun: ['x'] }, { dryRun: 'All' }],
  ...[{ gracePeriodSeconds: -1 }, { gracePeriodSeconds: '5' }, { gracePeriodSeconds: 2 ** 53 }],
  ...[{ propagationPolicy: 'x' }, { propagationPolicy: 'Orphan', orphanDependents: true }],
  ...[{ orphanDependents: false }, { propagationPolicy: 'Foreground', dryRun: ['All'] }],
  ...[{ preconditions: { uid: 'x' } }, { preconditions: { resourceVersion: '1' } }],
  ...[{ preconditions: { uid: '', resourceVersion: '' } }, { preconditions: [] }, { unknown: 1 }],
  ...[
    { kind: 'DeleteOptions', apiVersion: 'v1' },
    { kind: 'DeleteOptions', apiVersion: 'x/v1' },
  ],
  ...[
    { kind: 'Pod', apiVersion: 'v1' },
    { ignoreStoreReadErrorWithClusterBreakingPotential: true },
  ],
]

type Verb = (thing: Thing, query: string, dice: Dice) => Request
const patchTypes = 'merge-patch strategic-merge-patch json-patch apply-patch x'.split(' ')
const patches = [{ metadata: { labels: { z: 'z' } } }, { unknown: 1 }, {}, [], null, 'x', '[{}]']

const verbs: Readonly<Record<string, { readonly parameters: readonly string[]; make: Verb }>> = {
  list: {
    parameters: [
      ...list,
      'watch',
      'allowWatchBookmarks',
      'pretty',
      'unknown',
      'shardSelector',
      'includeObject',
    ],
    make: ({ collection }, query, dice) => ({
      method: 'GET',
      path: `${collection}?${query}`,
      headers: given({ accept: dice.maybe(() => dice.pick(media), 4) }) as Record<string, string>,
    }),
  },
  get: {
    parameters: ['resourceVersion', 'pretty', 'unknown', 'watch', 'fieldSelector', 'includeObject'],
    make: ({ collection }, query, dice) => ({
      method: 'GET',
      path: `${collection}/${name}?${query}`,
      headers: given({ accept: dice.maybe(() => dice.pick(media)) }) as Record<string, string>,
    }),
  },
  create: {
    parameters: written,
    make: ({ collection, body }, query, dice) => {
      const names = dice.pick([
        { name: 'other' },
        { name: 'other', x: 1 },
        { generateName: 'generated-' },
      ])
      const renamed = { ...body, metadata: { labels, ...names } }
      return {
        method: 'POST',
        path: `${collection}?${query}`,
        body: dice.pick([renamed, { ...renamed, unknown: 1 }]),
      }
    },
  },
  update: {
    parameters: written,
    make: ({ collection, body }, query, dice) => ({
      method: 'PUT',
      path: `${collection}/${name}?${query}`,
      body: dice.pick([body, { ...body, unknown: 1 }]),
    }),
  },
  patch: {
    parameters: written,
    make: ({ collection }, query, dice) => ({
      method: 'PATCH',
      path: `${collection}/${name}?${query}`,
      body: dice.pick(patches),
      headers: { 'content-type': `application/${dice.pick(patchTypes)}+json` },
    }),
  },
  apply: {
    parameters: written,
    make: ({ collection, apiVersion, kind }, query, dice) => ({
      method: 'PATCH',
      path: `${collection}/${name}?${query}`,
      body: dice.pick([
        { apiVersion, kind, metadata: { labels: { z: 'z' } } },
        { apiVersion, kind, metadata: { name, labels: { a: 'c' } } },
        { apiVersion, kind, metadata: { name: 'zz' } },
        { apiVersion, kind, metadata: { generateName: 'generated-' } },
        { apiVersion, kind, metadata: { managedFields: [], uid: 'x' } },
        { apiVersion, kind, unknown: 1 },
        { apiVersion: 'x/y', kind },
        { kind },
      ]),
      headers: { 'content-type': 'application/apply-patch+yaml' },
    }),
  },
  delete: {
    parameters: removed,
    make: ({ collection }, query, dice) => ({
      method: 'DELETE',
      path: `${collection}/${name}?${query}`,
      body: dice.pick(optionsOfDelete),
    }),
  },
  deletecollection: {
    parameters: [...removed, ...list],
    make: ({ collection }, query, dice) => ({
      method: 'DELETE',
      path: `${collection}?${query}`,
      body: dice.pick(optionsOfDelete),
    }),
  },
}

interface Asked extends Example {
  readonly thing: Thing
}

const exampleOf = (dice: Dice): Asked => {
  const [verb, { parameters, make }] = dice.pick(Object.entries(verbs))
  const query = new URLSearchParams()
  for (let i = dice.below(3); i >= 0; i--) {
    const parameter = dice.pick(parameters)
    query.append(parameter, dice.pick(values[parameter]!))
  }
  const thing = dice.pick(things)
  const request = make(thing, query.toString(), dice)
  // Nothing may be changed; a body switches off what the query of a delete says.
  const isEmptied = query.getAll('dryRun').every((value) => value === '')
  if (request.method !== 'GET' && (isEmptied || request.body !== undefined))
    query.append('dryRun', 'All')
  const path = `${request.path.split('?')[0]}?${query}`
  return { thing, where: `${verb} ${thing.kind}`, request: { ...request, path } }
}

/** A delete whose body is read and asks for no dry run would delete. */
const deletes = ({ request: { method, body } }: Example): boolean =>
  method === 'DELETE' && body !== undefined && !JSON.stringify(body).includes('"All"')

const askedAtFullShare = 20_000

const store = async (sweep: Sweep, { collection, body }: Thing): Promise<void> => {
  await sweep.prepare({ method: 'POST', path: collection, body })
}

export const requests: Part = {
  name: 'requests',
  play: async (sweep, dice) => {
    for (const thing of things) {
      await remove(sweep, `${thing.collection}/${name}`)
      await store(sweep, thing)
    }
    const count = Math.ceil(askedAtFullShare * sweep.share)
    const examples = Array.from({ length: count }, () => exampleOf(dice))
    await sweep.compareAll(examples.filter((example) => !deletes(example)))
    for (const example of examples.filter(deletes)) {
      await sweep.compare(example)
      await store(sweep, example.thing)
    }
    for (const { collection } of things) await remove(sweep, `${collection}/${name}`)
  },
}
