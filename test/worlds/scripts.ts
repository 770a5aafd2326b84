/** A random script for each seed. */
import { type Dice, diceOf } from '../sweep/dice.js'
import type { Step } from './script.js'
import { daemonSetScript } from './scripts/daemonset.js'
import { deploymentScript } from './scripts/deployment.js'
import { jobScript } from './scripts/job.js'
import { surroundings } from './scripts/pieces.js'
import { replicaSetScript } from './scripts/replicaset.js'
import { statefulSetScript } from './scripts/statefulset.js'

const subjects: Record<string, (dice: Dice) => Step[]> = {
  deployment: deploymentScript,
  statefulset: statefulSetScript,
  daemonset: daemonSetScript,
  job: jobScript,
  replicaset: replicaSetScript,
}
export const subjectNames: readonly string[] = Object.keys(subjects)

/** About one of the subjects. */
export const scriptOf = (seed: number, among: readonly string[]): Step[] => {
  const dice = diceOf(seed, 'worlds')
  return [...surroundings(dice), ...subjects[dice.pick(among)]!(dice)]
}
