/** What PodSecurity tells of a namespace whose labels change, or are none (pod-security-admission, admission.go). */
import t from 'tap'
import { podSecurity } from '#admission/pod-security/pod-security.js'
import type { KubeObject } from '#api/object.js'
import type { AdmissionAttributes } from '#registry/admission.js'

interface Request {
  readonly operation: 'CREATE' | 'UPDATE'
  readonly resource: 'namespaces' | 'pods'
  readonly object: object
  readonly oldObject?: object
}

/** Where there are these Pods and Namespaces. Yields the warnings and the annotations of the request. */
const tellOf = async (stored: Readonly<Record<string, readonly object[]>>, request: Request) => {
  const warnings: string[] = []
  const annotations: Record<string, string> = {}
  const ctx = {
    user: { name: 'u', groups: [] },
    warn: (text: string) => warnings.push(text),
    audit: { annotate: (key: string, value: string) => (annotations[key] = value) },
    stores: ({ resource }: { resource: string }) => ({
      definition: { storagePrefix: resource },
      atHand: {
        list: () => stored[resource]!.map((object) => ({ object })),
        get: () => ({ object: stored[resource]![0] }),
      },
    }),
  }
  await podSecurity().validate!({
    ...{ subresource: '', namespace: 'n', name: 'n', ctx, ...request },
    resource: { group: '', resource: request.resource },
  } as unknown as AdmissionAttributes)
  return { warnings, annotations }
}

const namespace = (labels: Record<string, string>) => ({ metadata: { name: 'n', labels } })
const label = 'pod-security.kubernetes.io/enforce'

const pod = (name: string, spec: object, owner?: string): KubeObject => ({
  ...{ kind: 'Pod', apiVersion: 'v1' },
  metadata: {
    name,
    ...(owner && {
      ownerReferences: [
        {
          ...{ apiVersion: 'apps/v1', kind: 'ReplicaSet' },
          name: owner,
          uid: owner,
          controller: true,
        },
      ],
    }),
  },
  spec: { containers: [], ...spec },
})

const enforce = (pods: readonly KubeObject[]) =>
  tellOf(
    { pods },
    {
      ...{ operation: 'UPDATE', resource: 'namespaces' },
      object: namespace({ [label]: 'baseline' }),
      oldObject: namespace({}),
    },
  )

t.test('of many Pods the first are checked, and the others are told of', async (t) => {
  const many = Array.from({ length: 3_001 }, (_, i) => pod(`p${1_000 + i}`, { hostPID: true }))
  const violate = 'existing pods in namespace "n" violate the new PodSecurity enforce level'
  t.same((await enforce(many)).warnings, [
    'new PodSecurity enforce level only checked against the first 3000 of 3001 existing pods',
    `${violate} "baseline:latest"`,
    'p1000 (and 2999 other pods): host namespaces',
  ])
})

t.test('of Pods with the same violation the first by its name is told', async (t) => {
  const port = { containers: [{ name: 'c', ports: [{ hostPort: 1 }] }] }
  const { warnings } = await enforce([
    pod('a', { hostPID: true }, 'owner'),
    pod('b', port, 'owner'),
    pod('c', port),
  ])
  t.same(warnings.slice(1), ['a: host namespaces', 'b (and 1 other pod): hostPort'])
})

t.test('labels that say nothing are told with each Pod', async (t) => {
  const { annotations } = await tellOf(
    { namespaces: [namespace({ 'pod-security.kubernetes.io/audit': 'odd' })] },
    { ...{ operation: 'CREATE', resource: 'pods' }, object: pod('p', {}) },
  )
  t.same(annotations, {
    'pod-security.kubernetes.io/enforce-policy': 'privileged:latest',
    'pod-security.kubernetes.io/error':
      'Failed to parse policy: metadata.labels[pod-security.kubernetes.io/audit]: Invalid value: "odd": must be one of privileged, baseline, restricted',
  })
})
