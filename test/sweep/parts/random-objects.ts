/** Valid objects at random of a few kinds that between them have each sort of list, map and owner. */
import { type Dice, given } from '../../dice.js'
import { namespace } from '../sweep.js'

type Fields = Record<string, unknown>

export interface RandomKind {
  readonly apiVersion: string
  readonly kind: string
  readonly collection: string
  make(dice: Dice): Fields
}

export const containerOf = (dice: Dice, name: string): Fields => {
  const { pick, some, maybe } = dice
  return given({
    name,
    image: pick(['i', 'i:1', 'i:2']),
    env: maybe(() =>
      some(['A', 'B', 'C']).map((one) =>
        given({ name: one, value: maybe(() => pick(['1', '2'])) }),
      ),
    ),
    ports: maybe(() =>
      some([80, 81, 53]).map((containerPort) =>
        given({
          containerPort,
          protocol: maybe(() => pick(['TCP', 'UDP'])),
          name: maybe(() => `p${containerPort}`),
        }),
      ),
    ),
    args: maybe(() => some(['x', 'y', 'z'])),
    command: maybe(() => ['c', pick(['1', '2'])], 3),
    resources: maybe(
      () => ({
        limits: given({
          cpu: maybe(() => pick(['1', '1000m', '0.5'])),
          memory: maybe(() => '1Gi'),
        }),
      }),
      3,
    ),
    volumeMounts: maybe(
      () => some(['v', 'w']).map((one) => ({ name: one, mountPath: `/${one}${dice.below(2)}` })),
      3,
    ),
  })
}

const podSpecOf = (dice: Dice): Fields => {
  const { pick, some, maybe } = dice
  const names = some(['a', 'b', 'c'])
  return given({
    containers: (names.length > 0 ? names : ['a']).map((name) => containerOf(dice, name)),
    volumes: [
      { name: 'v', emptyDir: {} },
      { name: 'w', emptyDir: given({ medium: maybe(() => 'Memory') }) },
    ],
    tolerations: maybe(() =>
      some(['k1', 'k2']).map((key) =>
        given({ key, operator: 'Exists', effect: maybe(() => 'NoSchedule') }),
      ),
    ),
    nodeSelector: maybe(() => given({ a: pick(['1', '2']), b: maybe(() => '3') }), 3),
    hostAliases: maybe(
      () => some(['1.1.1.1', '2.2.2.2']).map((ip) => ({ ip, hostnames: some(['a', 'b']) })),
      3,
    ),
    imagePullSecrets: maybe(() => some(['s1', 's2']).map((name) => ({ name })), 3),
    topologySpreadConstraints: maybe(
      () =>
        some(['z', 'h']).map((topologyKey) => ({
          topologyKey,
          maxSkew: 1 + dice.below(2),
          whenUnsatisfiable: 'DoNotSchedule',
          labelSelector: { matchLabels: { a: 'b' } },
        })),
      3,
    ),
  })
}

export const metadataOf = ({ pick, some, maybe, below }: Dice): Fields =>
  given({
    labels: maybe(() => given({ l1: maybe(() => pick(['1', '2'])), l2: maybe(() => 'x') })),
    annotations: maybe(() => given({ n1: maybe(() => pick(['1', '2'])), n2: maybe(() => '') })),
    finalizers: maybe(() => some(['f/a', 'f/b']), 4),
    ownerReferences: maybe(
      () =>
        some(['u1', 'u2']).map((uid) => ({
          apiVersion: 'v1',
          kind: 'K',
          name: `n${below(2)}`,
          uid,
        })),
      4,
    ),
  })

const deployment: RandomKind = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  collection: `/apis/apps/v1/namespaces/${namespace}/deployments`,
  make: (dice) => {
    const { pick, maybe, below, oneIn } = dice
    return {
      spec: given({
        replicas: maybe(() => below(3)),
        paused: maybe(() => oneIn(2), 4),
        minReadySeconds: maybe(() => below(3), 4),
        selector: { matchLabels: { a: 'b' } },
        strategy: maybe(
          () =>
            pick([
              { type: 'Recreate' },
              { type: 'RollingUpdate', rollingUpdate: { maxSurge: pick([1, '25%']) } },
            ]),
          3,
        ),
        template: {
          metadata: { labels: given({ a: 'b', c: maybe(() => 'd') }) },
          spec: podSpecOf(dice),
        },
      }),
    }
  },
}

const service: RandomKind = {
  apiVersion: 'v1',
  kind: 'Service',
  collection: `/api/v1/namespaces/${namespace}/services`,
  make: ({ pick, some, maybe }) => {
    const ports = some([80, 81, 82])
    return {
      spec: given({
        clusterIP: 'None',
        selector: maybe(() => given({ a: pick(['b', 'c']), d: maybe(() => 'e') })),
        externalIPs: maybe(() => some(['1.2.3.4', '5.6.7.8']), 3),
        sessionAffinity: maybe(() => 'ClientIP', 3),
        ports: (ports.length > 0 ? ports : [80]).map((port) =>
          given({
            name: `p${port}`,
            port,
            targetPort: maybe(() => pick([8080, 'http'])),
            protocol: maybe(() => pick(['TCP', 'UDP']), 3),
          }),
        ),
      }),
    }
  },
}

const configMap: RandomKind = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  collection: `/api/v1/namespaces/${namespace}/configmaps`,
  make: ({ pick, maybe }) =>
    given({
      data: maybe(() => given({ a: maybe(() => pick(['1', '2'])), b: maybe(() => '') })),
      binaryData: maybe(() => ({ z: 'YQ==' }), 4),
    }),
}

const serviceAccount: RandomKind = {
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  collection: `/api/v1/namespaces/${namespace}/serviceaccounts`,
  make: ({ some, maybe, oneIn }) =>
    given({
      secrets: maybe(() =>
        some(['s1', 's2', 's3']).map((name) => given({ name, namespace: maybe(() => 'x', 4) })),
      ),
      imagePullSecrets: maybe(() => some(['s1', 's2']).map((name) => ({ name }))),
      automountServiceAccountToken: maybe(() => oneIn(2)),
    }),
}

const ingress: RandomKind = {
  apiVersion: 'networking.k8s.io/v1',
  kind: 'Ingress',
  collection: `/apis/networking.k8s.io/v1/namespaces/${namespace}/ingresses`,
  make: ({ pick, some, maybe, below }) => {
    const backend = { service: { name: 's', port: { number: 1 } } }
    return {
      spec: given({
        ingressClassName: maybe(() => pick(['a', 'b'])),
        tls: maybe(() =>
          some(['t1', 't2']).map((secretName) => ({ secretName, hosts: some(['a.b', 'c.d']) })),
        ),
        defaultBackend: { service: { name: 's', port: pick([{ number: 1 }, { name: 'x' }]) } },
        rules: maybe(() =>
          some(['a.b', 'c.d']).map((host) => ({
            host,
            http: { paths: [{ path: `/${below(2)}`, pathType: 'Prefix', backend }] },
          })),
        ),
      }),
    }
  },
}

const budget: RandomKind = {
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  collection: `/apis/policy/v1/namespaces/${namespace}/poddisruptionbudgets`,
  make: ({ pick, some, maybe }) => ({
    spec: given({
      minAvailable: pick([1, '50%']),
      selector: maybe(() =>
        given({
          matchLabels: given({ a: 'b', c: maybe(() => 'd') }),
          matchExpressions: maybe(() => [
            { key: 'x', operator: 'In', values: [...some(['1', '2', '3']), '4'] },
          ]),
        }),
      ),
      unhealthyPodEvictionPolicy: maybe(() => pick(['AlwaysAllow', 'IfHealthyBudget']), 3),
    }),
  }),
}

const group = 'sweep.example.com'
const strings = { type: 'array', items: { type: 'string' } }
export const widgetDefinition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `widgets.${group}` },
  spec: {
    group,
    scope: 'Namespaced',
    names: { plural: 'widgets', kind: 'Widget' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: {
                type: 'object',
                properties: {
                  set: { ...strings, 'x-kubernetes-list-type': 'set' },
                  atomicList: { type: 'array', items: { type: 'integer' } },
                  map: {
                    type: 'array',
                    'x-kubernetes-list-type': 'map',
                    'x-kubernetes-list-map-keys': ['k'],
                    items: {
                      type: 'object',
                      required: ['k'],
                      properties: {
                        k: { type: 'string' },
                        v: { type: 'integer', default: 7 },
                        nested: { type: 'object', properties: { a: { type: 'string' } } },
                      },
                    },
                  },
                  atomicMap: {
                    type: 'object',
                    'x-kubernetes-map-type': 'atomic',
                    additionalProperties: { type: 'string' },
                  },
                  free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
                  number: { type: 'integer', default: 3 },
                },
              },
              status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
            },
          },
        },
      },
    ],
  },
}

export const widgetKind: RandomKind = {
  apiVersion: `${group}/v1`,
  kind: 'Widget',
  collection: `/apis/${group}/v1/namespaces/${namespace}/widgets`,
  make: ({ pick, some, maybe, below }) => ({
    spec: given({
      set: maybe(() => some(['a', 'b', 'c'])),
      atomicList: maybe(() => some([1, 2, 3])),
      map: maybe(() =>
        some(['x', 'y']).map((k) =>
          given({ k, v: maybe(() => below(3)), nested: maybe(() => ({ a: pick(['1', '2']) })) }),
        ),
      ),
      atomicMap: maybe(() => given({ a: pick(['1', '2']), b: maybe(() => '3') })),
      free: maybe(() => ({ x: pick([1, 'a', { y: 1 }, [1]]) })),
      number: maybe(() => below(5)),
    }),
  }),
}

export const randomKinds: readonly RandomKind[] = [
  ...[deployment, service, configMap, serviceAccount, ingress, budget, widgetKind],
]
