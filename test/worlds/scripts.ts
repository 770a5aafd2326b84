/** A random script for each seed. */
import { type Dice, diceOf } from '../dice.js'
import type { Step } from './script.js'
import { attachmentsScript } from './scripts/attachments.js'
import { autoscalerScript } from './scripts/autoscaler.js'
import { budgetsScript } from './scripts/budgets.js'
import { cronJobScript } from './scripts/cronjob.js'
import { daemonSetScript } from './scripts/daemonset.js'
import { deploymentScript } from './scripts/deployment.js'
import { devicesScript } from './scripts/devices.js'
import { garbageScript } from './scripts/garbage.js'
import { jobScript } from './scripts/job.js'
import { namespacesScript } from './scripts/namespaces.js'
import { nodesScript } from './scripts/nodes.js'
import { surroundings } from './scripts/pieces.js'
import { policiesScript } from './scripts/policies.js'
import { preemptionScript } from './scripts/preemption.js'
import { quotaScript } from './scripts/quota.js'
import { replicaSetScript } from './scripts/replicaset.js'
import { servicesScript } from './scripts/services.js'
import { statefulSetScript } from './scripts/statefulset.js'
import { volumesScript } from './scripts/volumes.js'
import { zonesScript } from './scripts/zones.js'

const workloads: Record<string, (dice: Dice) => Step[]> = {
  deployment: deploymentScript,
  statefulset: statefulSetScript,
  daemonset: daemonSetScript,
  job: jobScript,
  replicaset: replicaSetScript,
}
const subjects: typeof workloads = {
  ...workloads,
  cronjob: cronJobScript,
  budgets: budgetsScript,
  garbage: garbageScript,
  volumes: volumesScript,
  nodes: nodesScript,
  zones: zonesScript,
  devices: devicesScript,
  quota: quotaScript,
  services: servicesScript,
  autoscaler: autoscalerScript,
  attachments: attachmentsScript,
  namespaces: namespacesScript,
  policies: policiesScript,
  preemption: preemptionScript,
}
const withNodes = new Set(['nodes', 'zones', 'preemption', 'attachments'])

export const subjectNames: readonly string[] = Object.keys(subjects)

interface Script {
  readonly steps: readonly Step[]
  /** It has nodes of its own, which others would be put on, so that it is played apart from them. */
  readonly hasNodes: boolean
}

/** About one of the subjects. */
export const scriptOf = (seed: number, among: readonly string[]): Script => {
  const dice = diceOf(seed, 'worlds')
  const around = surroundings(dice)
  const subject = dice.pick(among)
  const steps = subjects[subject]!(dice)
  return {
    steps: subject in workloads ? [...around, ...steps] : steps,
    hasNodes: withNodes.has(subject),
  }
}
