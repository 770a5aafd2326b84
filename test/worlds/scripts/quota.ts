/** Quotas of every sort over objects that are there before them, come, change and go: what both count. */
import { type ResourceRef, resources } from '#client/resources.js'
import { type Dice, given } from '../../dice.js'
import { fated } from '../fate.js'
import {
  type Act,
  change,
  create,
  nameIn,
  type Place,
  remove,
  type Step,
  step,
  toPod,
} from '../script.js'
import { between } from './pieces.js'

const className = (place: Place, name: string): string =>
  nameIn(place, resources.storageClasses, name)

const plenty = '1k'
const always = [
  ...['pods', 'count/pods', 'cpu', 'memory', 'requests.cpu', 'limits.cpu', 'requests.memory'],
  ...['limits.memory', 'requests.ephemeral-storage', 'limits.ephemeral-storage'],
  ...['ephemeral-storage', 'requests.example.com/thing', 'limits.example.com/thing'],
  ...['requests.hugepages-2Mi', 'hugepages-2Mi'],
  ...['services', 'services.nodeports', 'services.loadbalancers', 'count/services'],
  ...['configmaps', 'count/configmaps', 'secrets', 'replicationcontrollers'],
  ...['persistentvolumeclaims', 'requests.storage', 'count/persistentvolumeclaims'],
  ...[
    'count/deployments.apps',
    'count/replicasets.apps',
    'count/jobs.batch',
    'count/cronjobs.batch',
  ],
  ...['count/serviceaccounts', 'count/endpoints', 'count/leases.coordination.k8s.io'],
  ...['count/resourceclaims.resource.k8s.io', 'count/events', 'count/nothing.example.com'],
]
const ofStorage = (place: Place): string[] =>
  ['fast', 'slow'].flatMap((name) => {
    const suffix = `${className(place, name)}.storageclass.storage.k8s.io`
    return [`${suffix}/requests.storage`, `${suffix}/persistentvolumeclaims`]
  })
const ofDevices = (place: Place): string[] => [
  `${nameIn(place, resources.deviceClasses, 'any')}.deviceclass.resource.k8s.io/devices`,
]

const scopes = ['Terminating', 'NotTerminating', 'BestEffort', 'NotBestEffort']

/** What quotas with scopes may limit. */
const ofPods = ['pods', 'requests.cpu', 'limits.memory', 'cpu', 'requests.example.com/thing']
const selected = (expression: object) => ({ scopeSelector: { matchExpressions: [expression] } })
type Scoped = readonly [string[], (place: Place) => object]
const scoped = (dice: Dice): Scoped => {
  const scope = dice.pick(scopes)
  const operator = dice.pick(['In', 'NotIn', 'Exists', 'DoesNotExist'])
  return dice.pick<Scoped>([
    [scope === 'BestEffort' ? ['pods'] : ofPods, () => ({ scopes: [scope] })],
    [ofPods, () => ({ scopes: ['NotBestEffort', 'NotTerminating'] })],
    [ofPods, () => ({ scopes: ['CrossNamespacePodAffinity'] })],
    [ofPods, () => selected({ scopeName: 'Terminating', operator: 'Exists' })],
    [
      ofPods,
      (place) =>
        selected({
          scopeName: 'PriorityClass',
          operator,
          ...(operator === 'In' || operator === 'NotIn'
            ? { values: [nameIn(place, resources.priorityClasses, 'high')] }
            : {}),
        }),
    ],
    [
      ['persistentvolumeclaims', 'requests.storage'],
      () => selected({ scopeName: 'VolumeAttributesClass', operator: 'In', values: ['gold'] }),
    ],
  ])
}

const quota = (dice: Dice, i: number): Act => {
  const isScoped = dice.oneIn(2)
  const [limited, scope] = scoped(dice)
  const chosen = dice.some(always)
  return (place) => {
    const [names, more] = isScoped
      ? [limited, scope(place)]
      : [[...chosen, ...ofStorage(place), ...ofDevices(place)], {}]
    const hard = Object.fromEntries(names.map((name) => [name, plenty]))
    return create(resources.resourceQuotas, {
      metadata: { name: `q${i}` },
      spec: { hard, ...more },
    })(place)
  }
}

const amounts = (dice: Dice) =>
  given({
    cpu: dice.maybe(() => dice.pick(['100m', '1', '1500m', '0'])),
    memory: dice.maybe(() => dice.pick(['64Mi', '1Gi', '1G'])),
    'ephemeral-storage': dice.maybe(() => '1Gi', 3),
  })

const resourcesOf = (dice: Dice) => {
  const requests = amounts(dice)
  const thing = dice.maybe(() => ({ 'example.com/thing': dice.pick(['1', '2']) }), 4)
  const limits = dice.oneIn(3)
    ? Object.fromEntries(Object.keys(requests).map((name) => [name, name === 'cpu' ? '4' : '4Gi']))
    : {}
  return { requests: { ...requests, ...thing }, limits: { ...limits, ...thing } }
}

const container = (dice: Dice, name: string, more: object = {}) => ({
  name,
  image: 'example.com/main:1',
  resources: resourcesOf(dice),
  ...more,
})

const pod = (dice: Dice, i: number): Act => {
  const spec = given({
    restartPolicy: 'Never',
    terminationGracePeriodSeconds: dice.pick([0, 30]),
    activeDeadlineSeconds: dice.maybe(() => 3600, 4),
    containers: ['one', 'two'].slice(0, between(dice, 1, 2)).map((name) => container(dice, name)),
    initContainers: dice.maybe(
      () => [
        container(dice, 'first', dice.oneIn(2) ? { restartPolicy: 'Always' } : {}),
        container(dice, 'second'),
      ],
      3,
    ),
    resources: dice.maybe(() => ({ requests: { cpu: '9', memory: '9Gi' } }), 6),
    schedulingGates: dice.maybe(() => [{ name: 'example.com/gate' }], 6),
    affinity: dice.maybe(
      () => ({
        podAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: [
            {
              weight: 1,
              podAffinityTerm: {
                topologyKey: 'zone',
                labelSelector: {},
                ...dice.pick([{ namespaces: ['elsewhere'] }, { namespaceSelector: {} }, {}]),
              },
            },
          ],
        },
      }),
      5,
    ),
  })
  const hasPriority = dice.oneIn(4)
  const fate = dice.pick([undefined, 'end-0', 'end-1', 'silent'])
  return (place) =>
    create(resources.pods, {
      metadata: { name: `p${i}`, labels: { app: 'a' }, annotations: fated(fate) },
      spec: given({
        ...spec,
        priorityClassName: hasPriority
          ? nameIn(place, resources.priorityClasses, 'high')
          : undefined,
      }),
    })(place)
}

const claim = (dice: Dice, i: number): Act => {
  const storage = dice.pick(['1Gi', '500M', '3Ti'])
  const name = dice.pick(['fast', 'slow', 'gone', ''])
  const volumeAttributesClassName = dice.maybe(() => dice.pick(['gold', 'iron']), 3)
  const isOld = dice.oneIn(5)
  return (place) =>
    create(resources.persistentVolumeClaims, {
      metadata: given({
        name: `c${i}`,
        annotations: isOld
          ? { 'volume.beta.kubernetes.io/storage-class': className(place, 'fast') }
          : undefined,
      }),
      spec: given({
        accessModes: ['ReadWriteOnce'],
        storageClassName: name && className(place, name),
        volumeAttributesClassName,
        resources: { requests: { storage } },
      }),
    })(place)
}

const service = (dice: Dice, i: number): Act =>
  create(resources.services, {
    metadata: { name: `s${i}` },
    spec: given({
      type: dice.pick(['ClusterIP', 'NodePort', 'LoadBalancer']),
      ports: ['a', 'b'].slice(0, between(dice, 1, 2)).map((name, at) => ({ name, port: 80 + at })),
    }),
  })

const resourceClaim = (dice: Dice, i: number): Act => {
  const count = between(dice, 1, 3)
  const isAll = dice.oneIn(3)
  const isOne = dice.oneIn(2)
  return (place) => {
    const of = (count: number) => ({
      deviceClassName: nameIn(place, resources.deviceClasses, 'any'),
      ...(isAll ? { allocationMode: 'All' } : { count }),
    })
    const requests = isOne
      ? [{ name: 'r', exactly: of(count) }]
      : [
          {
            name: 'r',
            firstAvailable: [
              { name: 'x', ...of(1) },
              { name: 'y', ...of(count) },
            ],
          },
        ]
    return create(resources.resourceClaims, {
      metadata: { name: `d${i}` },
      spec: { devices: { requests } },
    })(place)
  }
}

const makers: ((dice: Dice, i: number) => Act)[] = [
  pod,
  pod,
  pod,
  claim,
  claim,
  service,
  resourceClaim,
  (_, i) => create(resources.configMaps, { metadata: { name: `m${i}` } }),
  (_, i) => create(resources.secrets, { metadata: { name: `t${i}` } }),
  (_, i) => create(resources.serviceAccounts, { metadata: { name: `a${i}` } }),
  (_, i) => create(resources.leases, { metadata: { name: `l${i}` } }),
  (dice, i) =>
    create(resources.replicationControllers, {
      metadata: { name: `r-${i}` },
      spec: {
        replicas: dice.below(3),
        selector: { app: `r-${i}` },
        template: {
          metadata: { labels: { app: `r-${i}` } },
          spec: { containers: [container(dice, 'main')] },
        },
      },
    }),
]

const kinds: readonly [ResourceRef, string][] = [
  [resources.persistentVolumeClaims, 'c'],
  [resources.services, 's'],
  [resources.resourceClaims, 'd'],
  [resources.configMaps, 'm'],
  [resources.pods, 'p'],
  [resources.replicationControllers, 'r-'],
]

const changes: ((dice: Dice, i: number) => Step)[] = [
  (dice, i) => step('another object', dice.pick(makers)(dice, i)),
  (dice, i) => step('another object', dice.pick(makers)(dice, i)),
  (dice) => step('delete a Pod', toPod('a', dice.pick(['delete', 'hold', 'fail']))),
  (dice) => {
    const [ref, letter] = dice.pick(kinds)
    const acts = Array.from({ length: 9 }, (_, i) => remove(ref, `${letter}${i}`))
    return step(`delete each ${ref.kind}`, ...acts)
  },
  () =>
    step(
      'Services of another type',
      ...Array.from({ length: 9 }, (_, i) =>
        change(resources.services, `s${i}`, {
          spec: { type: i % 2 === 0 ? 'ClusterIP' : 'NodePort' },
        }),
      ),
    ),
  (dice, i) => step('another quota', quota(dice, i)),
  (dice) =>
    step(
      'other limits',
      change(resources.resourceQuotas, 'q0', {
        spec: { hard: { 'count/secrets': dice.pick([5, null]), pods: 3 } },
      }),
    ),
  (dice) => step('delete a quota', remove(resources.resourceQuotas, `q${dice.below(2)}`)),
]

const storageClass = (name: string): Act =>
  create(resources.storageClasses, { metadata: { name }, provisioner: 'nowhere.example.com' })

export const quotaScript = (dice: Dice): Step[] => {
  const objects = Array.from({ length: between(dice, 3, 9) }, (_, i) => dice.pick(makers)(dice, i))
  const quotas = Array.from({ length: between(dice, 1, 3) }, (_, i) => quota(dice, i))
  const both = [step('objects', ...objects), step('quotas', ...quotas)]
  return [
    step(
      'classes',
      storageClass('fast'),
      storageClass('slow'),
      create(resources.priorityClasses, { metadata: { name: 'high' }, value: 10 }),
      create(resources.deviceClasses, { metadata: { name: 'any' }, spec: {} }),
    ),
    ...(dice.oneIn(3) ? both.reverse() : both),
    ...Array.from({ length: between(dice, 1, 5) }, (_, i) =>
      dice.pick(changes)(dice, i + objects.length),
    ),
  ]
}
