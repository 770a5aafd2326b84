/** Kinds that go in different ways: with grace, by finalizers of their own, with other defaults of propagation. */
import { given } from '../../dice.js'
import { namespace } from '../sweep.js'
import { type RandomKind, randomKinds } from './random-objects.js'

const core = `/api/v1/namespaces/${namespace}`
const selector = { matchLabels: { a: 'b' } }
const template = {
  metadata: { labels: selector.matchLabels },
  spec: { containers: [{ name: 'c', image: 'i' }] },
}

const pod: RandomKind = {
  apiVersion: 'v1',
  kind: 'Pod',
  collection: `${core}/pods`,
  make: ({ pick, maybe, below }) => ({
    spec: given({
      nodeName: maybe(() => `n${below(2)}`),
      terminationGracePeriodSeconds: maybe(() => pick([0, 1, 5, 30, -1])),
      containers: [{ name: 'c', image: 'i' }],
    }),
  }),
}

const claim: RandomKind = {
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  collection: `${core}/persistentvolumeclaims`,
  make: () => ({
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
  }),
}

const volume: RandomKind = {
  apiVersion: 'v1',
  kind: 'PersistentVolume',
  collection: '/api/v1/persistentvolumes',
  make: () => ({
    spec: {
      accessModes: ['ReadWriteOnce'],
      capacity: { storage: '1Gi' },
      hostPath: { path: '/x' },
    },
  }),
}

const replicationController: RandomKind = {
  apiVersion: 'v1',
  kind: 'ReplicationController',
  collection: `${core}/replicationcontrollers`,
  make: ({ below }) => ({
    spec: { replicas: below(2), selector: selector.matchLabels, template },
  }),
}

const job: RandomKind = {
  apiVersion: 'batch/v1',
  kind: 'Job',
  collection: `/apis/batch/v1/namespaces/${namespace}/jobs`,
  make: ({ maybe }) => ({
    spec: given({
      ttlSecondsAfterFinished: maybe(() => 100),
      template: { spec: { ...template.spec, restartPolicy: 'Never' } },
    }),
  }),
}

const namespaceKind: RandomKind = {
  apiVersion: 'v1',
  kind: 'Namespace',
  collection: '/api/v1/namespaces',
  make: ({ maybe }) => given({ spec: maybe(() => ({ finalizers: ['kubernetes', 'f/x'] }), 3) }),
}

const alsoDying = new Set(['ConfigMap', 'Deployment', 'Service', 'Widget'])

export const dyingKinds: readonly RandomKind[] = [
  ...[pod, pod, pod, claim, volume, replicationController, job, namespaceKind],
  ...randomKinds.filter(({ kind }) => alsoDying.has(kind)),
]
