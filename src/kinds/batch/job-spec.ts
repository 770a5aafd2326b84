/** Defaults of jobs and the selector that each gets of its own (kubernetes, pkg/apis/batch and pkg/registry/batch/job). */

import type { Fields, KubeObject } from '#api/object.js'
import { jsonEqual } from '#json/object.js'

/** The template of a cron job gets this default of jobs and no other. */
export const defaultFailurePolicy = (spec: Fields | undefined): void => {
  for (const rule of spec?.podFailurePolicy?.rules ?? [])
    for (const pattern of rule.onPodConditions ?? []) pattern.status ||= 'True'
}

export const defaultJobSpec = (spec: Fields): void => {
  if (spec.completions === undefined && spec.parallelism === undefined) spec.completions = 1
  spec.parallelism ??= 1
  // Counted per index, failures have no common limit.
  spec.backoffLimit ??= spec.backoffLimitPerIndex === undefined ? 6 : 2 ** 31 - 1
  spec.completionMode ??= 'NonIndexed'
  spec.suspend ??= false
  spec.podReplacementPolicy ??=
    spec.podFailurePolicy === undefined ? 'TerminatingOrFailed' : 'Failed'
  spec.manualSelector ??= false
  defaultFailurePolicy(spec)
}

const uidLabel = 'batch.kubernetes.io/controller-uid'
const legacyUidLabel = 'controller-uid'
const nameLabel = 'batch.kubernetes.io/job-name'
const legacyNameLabel = 'job-name'

const generatedLabels: readonly string[] = [uidLabel, legacyUidLabel, nameLabel, legacyNameLabel]

/** Whether the job shows the labels that its template got from us and no others. */
export const showsGeneratedLabels = ({ metadata, spec }: KubeObject): boolean =>
  !spec.manualSelector &&
  metadata.labels !== undefined &&
  jsonEqual(metadata.labels, spec.template.metadata?.labels) &&
  Object.keys(metadata.labels).every((label) => generatedLabels.includes(label))

/** Labels on the template and a selector for them, unless the client selects by hand. */
export const generateSelector = (job: KubeObject): void => {
  const { spec } = job
  if (spec.manualSelector) return
  const { uid = '', name = '' } = job.metadata
  spec.template.metadata ??= {}
  spec.template.metadata.labels ??= {}
  // In place: a job that took its own labels from the template gets these too, as upstream's do.
  const { labels } = spec.template.metadata
  const wanted = {
    [uidLabel]: uid,
    [legacyUidLabel]: uid,
    [nameLabel]: name,
    [legacyNameLabel]: name,
  }
  for (const [key, value] of Object.entries(wanted)) labels[key] ??= value
  spec.selector ??= {}
  spec.selector.matchLabels ??= {}
  spec.selector.matchLabels[uidLabel] ??= uid
}
