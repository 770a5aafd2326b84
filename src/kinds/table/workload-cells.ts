/** Rows of the kinds that make pods. Rules: kubernetes pkg/printers/internalversion. */

import { parseTime } from '#api/clock.js'
import { isConditionTrue } from '#api/conditions.js'
import { controllerRefOf } from '#api/controller-ref.js'
import { formatGroupKind, groupOf } from '#api/group-version.js'
import { formatLabelSelector } from '#api/label-selector.js'
import type { KubeObject, OwnerReference } from '#api/object.js'
import { humanDuration } from '#registry/human-duration.js'
import {
  age,
  type Cells,
  containersAndImages,
  formatLabels,
  showLabelSelector,
  since,
} from './format.js'

const templateOf = (object: KubeObject) => containersAndImages(object.spec?.template?.spec)

export const podTemplateCells: Cells = (object) => [
  object.metadata.name,
  ...containersAndImages(object.template?.spec),
  formatLabels(object.template?.metadata?.labels),
]

export const deploymentCells: Cells = (object, now) => [
  object.metadata.name,
  `${object.status?.readyReplicas ?? 0}/${object.spec?.replicas ?? 0}`,
  object.status?.updatedReplicas ?? 0,
  object.status?.availableReplicas ?? 0,
  age(object, now),
  ...templateOf(object),
  // Printed as it is, unlike that of other kinds: nothing for none.
  formatLabelSelector(object.spec?.selector),
]

const replicaCells =
  (formatSelector: (selector: KubeObject['spec']) => string): Cells =>
  (object, now) => [
    object.metadata.name,
    object.spec?.replicas ?? 0,
    object.status?.replicas ?? 0,
    object.status?.readyReplicas ?? 0,
    age(object, now),
    ...templateOf(object),
    formatSelector(object.spec?.selector),
  ]
export const replicaSetCells = replicaCells(showLabelSelector)
export const replicationControllerCells = replicaCells(formatLabels)

export const statefulSetCells: Cells = (object, now) => [
  object.metadata.name,
  `${object.status?.readyReplicas ?? 0}/${object.spec?.replicas ?? 0}`,
  age(object, now),
  ...templateOf(object),
]

export const daemonSetCells: Cells = (object, now) => [
  object.metadata.name,
  object.status?.desiredNumberScheduled ?? 0,
  object.status?.currentNumberScheduled ?? 0,
  object.status?.numberReady ?? 0,
  object.status?.updatedNumberScheduled ?? 0,
  object.status?.numberAvailable ?? 0,
  formatLabels(object.spec?.template?.spec?.nodeSelector),
  age(object, now),
  ...templateOf(object),
  showLabelSelector(object.spec?.selector),
]

/** The first of these that holds is the job's status; a job that ends shows it before its conditions do. */
const jobStatus = (job: KubeObject): string => {
  const isTrue = (type: string): boolean => isConditionTrue(job, type)
  const of = (types: string[]): string | undefined => types.find(isTrue)
  const ended = of(['Complete', 'Failed'])
  if (ended) return ended
  if (job.metadata.deletionTimestamp) return 'Terminating'
  return of(['Suspended', 'FailureTarget', 'SuccessCriteriaMet']) ?? 'Running'
}

const jobCompletions = ({ spec, status }: KubeObject): string => {
  const succeeded = status?.succeeded ?? 0
  if (spec?.completions !== undefined && spec.completions !== null)
    return `${succeeded}/${spec.completions}`
  const parallelism = spec?.parallelism ?? 0
  return parallelism > 1 ? `${succeeded}/1 of ${parallelism}` : `${succeeded}/1`
}

const jobDuration = ({ status }: KubeObject, now: number): string => {
  if (!status?.startTime) return ''
  const end = status.completionTime ? parseTime(status.completionTime) : now
  return humanDuration(end - parseTime(status.startTime))
}

export const jobCells: Cells = (job, now) => [
  job.metadata.name,
  jobStatus(job),
  jobCompletions(job),
  jobDuration(job, now),
  age(job, now),
  ...templateOf(job),
  showLabelSelector(job.spec?.selector),
]

const printSwitch = (value: boolean | undefined): string =>
  value === undefined ? '<unset>' : value ? 'True' : 'False'

export const cronJobCells: Cells = ({ metadata, spec, status, ...rest }, now) => [
  metadata.name,
  spec?.schedule ?? '',
  spec?.timeZone ?? '<none>',
  printSwitch(spec?.suspend),
  (status?.active ?? []).length,
  status?.lastScheduleTime === undefined ? '<none>' : since(status.lastScheduleTime, now),
  age({ ...rest, metadata }, now),
  ...containersAndImages(spec?.jobTemplate?.spec?.template?.spec),
  showLabelSelector(spec?.jobTemplate?.spec?.selector),
]

const kindOf = ({ apiVersion, kind }: OwnerReference): string =>
  formatGroupKind({ group: groupOf(apiVersion), kind })

export const controllerRevisionCells: Cells = (object, now) => {
  const controller = controllerRefOf(object)
  return [
    object.metadata.name,
    controller ? `${kindOf(controller).toLowerCase()}/${controller.name}` : '<none>',
    object.revision ?? 0,
    age(object, now),
  ]
}
