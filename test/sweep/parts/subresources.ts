/** Fields of what is written through subresources and of reviews. */
import { type Api, readApi, schemaNamed } from '../api-documents.js'
import { fieldsOf, valuesFor, withChange } from '../fields.js'
import { namespace, type Part, type Sweep } from '../sweep.js'

interface Case {
  readonly name: string
  readonly typeName: string
  readonly method: string
  readonly path: string
  readonly body: object
  /** Which fields count there. */
  readonly fields?: RegExp
}

const core = `/api/v1/namespaces/${namespace}`
const deployments = `/apis/apps/v1/namespaces/${namespace}/deployments`
const resources = { requests: { cpu: '1' } }
const metadata = { name: 'under' }
const pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata,
  spec: { containers: [{ name: 'c', image: 'i', resources }] },
}
const matchLabels = { a: 'b' }
const deployment = {
  metadata,
  spec: {
    selector: { matchLabels },
    template: { metadata: { labels: matchLabels }, spec: pod.spec },
  },
}
const stored: readonly (readonly [string, { readonly metadata: object }])[] = [
  [`${core}/pods`, pod],
  [`${core}/serviceaccounts`, { metadata }],
  [deployments, deployment],
]

const review = (
  kind: string,
  body: { readonly spec?: object; readonly metadata?: object } = {},
  within = '',
): Case => {
  const group =
    kind.startsWith('Token') || kind === 'SelfSubjectReview' ? 'authentication' : 'authorization'
  return {
    name: kind,
    typeName: `io.k8s.api.${group}.v1.${kind}`,
    method: 'POST',
    path: `/apis/${group}.k8s.io/v1/${within}${kind.toLowerCase()}s`,
    body: { apiVersion: `${group}.k8s.io/v1`, kind, ...body },
  }
}

const resourceAttributes = { verb: 'get', resource: 'pods' }
const cases: readonly Case[] = [
  {
    name: 'eviction',
    typeName: 'io.k8s.api.policy.v1.Eviction',
    method: 'POST',
    path: `${core}/pods/under/eviction?dryRun=All`,
    body: { apiVersion: 'policy/v1', kind: 'Eviction', metadata },
  },
  {
    name: 'binding',
    typeName: 'io.k8s.api.core.v1.Binding',
    method: 'POST',
    path: `${core}/pods/under/binding?dryRun=All`,
    body: { apiVersion: 'v1', kind: 'Binding', metadata, target: { name: 'n' } },
  },
  {
    name: 'token',
    typeName: 'io.k8s.api.authentication.v1.TokenRequest',
    method: 'POST',
    path: `${core}/serviceaccounts/under/token?dryRun=All`,
    body: {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: { audiences: ['a'] },
    },
  },
  {
    name: 'ephemeralcontainers',
    typeName: 'io.k8s.api.core.v1.Pod',
    method: 'PUT',
    path: `${core}/pods/under/ephemeralcontainers?dryRun=All`,
    body: { ...pod, spec: { ...pod.spec, ephemeralContainers: [{ name: 'e', image: 'i' }] } },
    fields: /ephemeral|^metadata|spec\.containers\.0\.(?:name|image)$/,
  },
  {
    name: 'resize',
    typeName: 'io.k8s.api.core.v1.Pod',
    method: 'PUT',
    path: `${core}/pods/under/resize?dryRun=All`,
    body: pod,
    fields: /resources|resizePolicy|^metadata|restartPolicy/,
  },
  {
    name: 'scale',
    typeName: 'io.k8s.api.autoscaling.v1.Scale',
    method: 'PUT',
    path: `${deployments}/under/scale?dryRun=All`,
    body: {
      apiVersion: 'autoscaling/v1',
      kind: 'Scale',
      metadata: { ...metadata, namespace },
      spec: { replicas: 2 },
    },
  },
  {
    name: 'finalize',
    typeName: 'io.k8s.api.core.v1.Namespace',
    method: 'PUT',
    path: `/api/v1/namespaces/${namespace}/finalize?dryRun=All`,
    body: {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: namespace },
      spec: { finalizers: ['kubernetes'] },
    },
  },
  {
    name: 'deleteoptions',
    typeName: 'io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions',
    method: 'DELETE',
    path: `${core}/pods/under`,
    body: { apiVersion: 'v1', kind: 'DeleteOptions', dryRun: ['All'] },
    fields: /^(?!dryRun)/,
  },
  review('SelfSubjectAccessReview', { spec: { resourceAttributes } }),
  review('SubjectAccessReview', { spec: { resourceAttributes, user: 'u' } }),
  review(
    'LocalSubjectAccessReview',
    {
      metadata: { namespace },
      spec: { resourceAttributes: { ...resourceAttributes, namespace }, user: 'u' },
    },
    `namespaces/${namespace}/`,
  ),
  review('SelfSubjectRulesReview', { spec: { namespace } }),
  review('TokenReview', { spec: { token: 'x' } }),
  review('SelfSubjectReview'),
]

const words = ['', 'x', 'x/y', 5, null, 'v1', 'Pod']

const changesOf = (api: Api, { typeName, fields = /^/ }: Case) => [
  ...fieldsOf(api, schemaNamed(typeName))
    .filter(({ path }) => fields.test(path.join('.')))
    .flatMap(({ path, schema }) => valuesFor(api, schema).map((value) => ({ path, value }))),
  ...['apiVersion', 'kind'].flatMap((key) => words.map((value) => ({ path: [key], value }))),
]

const store = async (sweep: Sweep): Promise<void> => {
  for (const [path, body] of stored) await sweep.prepare({ method: 'POST', path, body })
}

export const subresources: Part = {
  name: 'subresources',
  play: async (sweep, dice) => {
    const api = await readApi(sweep.against)
    await store(sweep)
    for (const one of cases) {
      const { name, method, path, body } = one
      const changes = changesOf(api, one).filter(() => dice.happens(sweep.share))
      await sweep.compareAll(
        changes.map((change) => ({
          where: `${name} ${change.path.join('.')}`,
          request: { method, path, body: withChange(body, change) },
        })),
      )
    }
    for (const [path] of stored)
      await sweep.prepare({ method: 'DELETE', path: `${path}/under?gracePeriodSeconds=0` })
  },
}
