/** Jobs (kubernetes, batch/validation). */

import {
  child,
  type FieldError,
  index,
  invalid,
  notSupported,
  required,
  shownAsJson,
} from '#api/field-error.js'
import { isDns1123Label } from '#api/names.js'
import type { Fields, KubeObject } from '#api/object.js'
import { givenEmpty } from '#json/given-empty.js'
import type { MetadataChecks } from '#registry/resource-definition.js'
import { validDomainPrefixedPath, validLength } from '../formats.js'
import { immutable, immutablePointer } from '../immutable.js'
import { internalForm } from '../internal-form.js'
import { validLabelSelector } from '../label-selector.js'
import { sparedIfStored } from '../late-rules.js'
import { notNegative } from './counts.js'
import { validFailurePolicy, validSuccessPolicy } from './job-policies.js'
import {
  isUsableSelector,
  printableLabels,
  printableSelector,
  selectorMatches,
  validPodTemplate,
} from './pod-template.js'

const indexedParallelismMax = 100_000
const failedIndexesMax = 100_000
const completionsSoftLimit = 100_000
const manyCompletionsLimit = 10_000

const completionModes = ['NonIndexed', 'Indexed']
const replacements = ['Failed', 'TerminatingOrFailed']

const managedByLengthMax = 63

const managedByErrors = (at: string, name: string | undefined): FieldError[] => {
  if (name === undefined) return []
  return [...validDomainPrefixedPath(at, name), ...validLength(at, name, managedByLengthMax)]
}

const indexedErrors = (path: string, spec: Fields): FieldError[] => {
  const at = (field: string) => child(path, field)
  const { completions, parallelism, maxFailedIndexes, backoffLimitPerIndex } = spec
  const errors: FieldError[] = []
  if (completions === undefined)
    errors.push(required(at('completions'), 'when completion mode is Indexed'))
  const atMost = (field: string, max: number | undefined, text: string): void => {
    if (max !== undefined && spec[field] !== undefined && spec[field] > max)
      errors.push(invalid(at(field), spec[field], `must be less than or equal to ${text}`))
  }
  atMost(
    'parallelism',
    indexedParallelismMax,
    `${indexedParallelismMax} when completion mode is Indexed`,
  )
  atMost('maxFailedIndexes', completions, 'completions')
  atMost('maxFailedIndexes', failedIndexesMax, String(failedIndexesMax))
  if (completions > completionsSoftLimit && backoffLimitPerIndex !== undefined) {
    const when = 'when completions are above 100000 and used with backoff limit per index'
    if (maxFailedIndexes === undefined)
      errors.push(
        required(at('maxFailedIndexes'), 'must be specified when completions is above 100000'),
      )
    if (parallelism > manyCompletionsLimit)
      errors.push(
        invalid(
          at('parallelism'),
          parallelism,
          `must be less than or equal to ${manyCompletionsLimit} ${when}`,
        ),
      )
    if (maxFailedIndexes > manyCompletionsLimit)
      errors.push(
        invalid(
          at('maxFailedIndexes'),
          maxFailedIndexes,
          `must be less than or equal to ${manyCompletionsLimit} ${when}`,
        ),
      )
  }
  return errors
}

const indexedOnly = (path: string, spec: Fields): FieldError[] =>
  ['backoffLimitPerIndex', 'maxFailedIndexes']
    .filter((field) => spec[field] !== undefined)
    .map((field) => invalid(child(path, field), spec[field], 'requires indexed completion mode'))

const modeErrors = (path: string, spec: Fields): FieldError[] => {
  const at = child(path, 'completionMode')
  if (spec.completionMode !== undefined && !completionModes.includes(spec.completionMode))
    return [notSupported(at, spec.completionMode, completionModes)]
  return spec.completionMode === 'Indexed' ? indexedErrors(path, spec) : indexedOnly(path, spec)
}

const replacementErrors = (path: string, spec: Fields): FieldError[] => {
  const policy = spec.podReplacementPolicy
  if (policy === undefined) return []
  const allowed = spec.podFailurePolicy === undefined ? replacements : ['Failed']
  return allowed.includes(policy) ? [] : [notSupported(path, policy, allowed)]
}

const restartErrors = (path: string, spec: Fields): FieldError[] => {
  const policy = spec.template.spec.restartPolicy
  const at = child(path, 'template', 'spec', 'restartPolicy')
  // Upstream's default for every template is the one that a job cannot have.
  if (policy === 'Always') return [required(at, 'valid values: "OnFailure", "Never"')]
  if (policy !== 'OnFailure' && policy !== 'Never')
    return [notSupported(at, policy, ['OnFailure', 'Never'])]
  return spec.podFailurePolicy !== undefined && policy !== 'Never'
    ? [invalid(at, policy, 'only "Never" is supported when podFailurePolicy is specified')]
    : []
}

const successPolicyErrors = (path: string, spec: Fields): FieldError[] => {
  if (spec.successPolicy === undefined) return []
  if (spec.completionMode === 'Indexed') return validSuccessPolicy(path, spec)
  const printed = internalForm('batch.v1.SuccessPolicy', spec.successPolicy)
  return [invalid(path, printed, 'requires indexed completion mode')]
}

/** The part that templates of CronJobs share with jobs. */
export const validJobSpec = (path: string, spec: Fields): FieldError[] => [
  ...notNegative(
    path,
    spec,
    'parallelism',
    'completions',
    'activeDeadlineSeconds',
    'backoffLimit',
    'ttlSecondsAfterFinished',
    'backoffLimitPerIndex',
  ),
  ...(spec.maxFailedIndexes === undefined
    ? []
    : [
        ...notNegative(path, spec, 'maxFailedIndexes'),
        ...(spec.backoffLimitPerIndex === undefined
          ? [required(child(path, 'backoffLimitPerIndex'), 'when maxFailedIndexes is specified')]
          : []),
      ]),
  ...managedByErrors(child(path, 'managedBy'), spec.managedBy),
  ...modeErrors(path, spec),
  ...validFailurePolicy(child(path, 'podFailurePolicy'), spec),
  ...successPolicyErrors(child(path, 'successPolicy'), spec),
  ...replacementErrors(child(path, 'podReplacementPolicy'), spec),
  ...validPodTemplate(child(path, 'template'), spec.template),
  ...restartErrors(path, spec),
]

const uidLabels = ['batch.kubernetes.io/controller-uid', 'controller-uid']
const nameLabels = ['batch.kubernetes.io/job-name', 'job-name']

const hasLabel = (labels: Fields, key: string, expected: string): FieldError[] => {
  const at = index('spec.template.metadata.labels', key)
  if (labels[key] === undefined) return [required(at, `must be '${expected}'`)]
  return labels[key] === expected
    ? []
    : [invalid(at, printableLabels(labels), `must be '${expected}'`)]
}

/** Jobs of before v1.27 have only the labels without a prefix. */
const hasPrefixedLabels = ({ spec }: KubeObject): boolean =>
  [uidLabels[0]!, nameLabels[0]!].every(
    (key) => spec.template.metadata?.labels?.[key] !== undefined,
  )

const generatedSelectorErrors = (
  { metadata, spec }: KubeObject,
  previous?: KubeObject,
): FieldError[] => {
  if (spec.manualSelector || !spec.selector) return []
  const labels: Fields = spec.template.metadata?.labels ?? {}
  const { uid = '', name = '' } = metadata
  const isPrefixed = previous === undefined || hasPrefixedLabels(previous)
  const expected = Object.fromEntries([
    ...uidLabels.slice(isPrefixed ? 0 : 1).map((key) => [key, uid]),
    ...nameLabels.slice(isPrefixed ? 0 : 1).map((key) => [key, name]),
  ]) as Record<string, string>
  const order = [uidLabels[1]!, nameLabels[1]!, uidLabels[0]!, nameLabels[0]!]
  return [
    ...order.slice(0, isPrefixed ? 4 : 2).flatMap((key) => hasLabel(labels, key, expected[key]!)),
    ...(isUsableSelector(spec.selector) && !selectorMatches(spec.selector, expected)
      ? [
          invalid(
            'spec.selector',
            printableSelector(spec.selector),
            '`selector` not auto-generated',
          ),
        ]
      : []),
  ]
}

const selectorErrors = (spec: Fields): FieldError[] => {
  const labels = spec.template.metadata?.labels
  return [
    ...(spec.selector
      ? validLabelSelector('spec.selector', spec.selector)
      : [required('spec.selector')]),
    ...(isUsableSelector(spec.selector) && !selectorMatches(spec.selector, labels ?? {})
      ? [
          invalid(
            'spec.template.metadata.labels',
            printableLabels(labels) ?? givenEmpty(spec.template.metadata, 'labels'),
            '`selector` does not match template `labels`',
          ),
        ]
      : []),
  ]
}

/** The last pod of an indexed job must have a hostname too. */
const hostnameErrors = ({ metadata, spec }: KubeObject): FieldError[] => {
  if (spec.completionMode !== 'Indexed' || !(spec.completions > 0)) return []
  const name: string = metadata.name ?? ''
  const hostname = `${name}-${spec.completions - 1}`
  return isDns1123Label(hostname).length === 0
    ? []
    : [
        invalid(
          'metadata.name',
          name,
          `will not able to create pod with invalid DNS label: ${hostname}`,
        ),
      ]
}

const jobErrors = (job: KubeObject, previous?: KubeObject): FieldError[] => [
  ...generatedSelectorErrors(job, previous),
  ...validJobSpec('spec', job.spec),
  ...selectorErrors(job.spec),
  ...hostnameErrors(job),
]

export const validateJob = (job: KubeObject): FieldError[] => jobErrors(job)

/** A suspended job that never started, or was stopped, may still be told where to run and what it may use. */
const mayChangeTemplate = ({ spec, status }: KubeObject): boolean =>
  spec.suspend === true &&
  (status?.active ?? 0) === 0 &&
  (status?.startTime === undefined ||
    ((status.conditions ?? []) as Fields[]).some(
      ({ type, status: is }) => type === 'Suspended' && is === 'True',
    ))

const schedulingFields = ['nodeSelector', 'tolerations', 'schedulingGates']

/** The node affinity of the new template in the old one. */
const withNodeAffinity = (next: Fields | undefined, previous: Fields | undefined) => {
  if (next === undefined && previous === undefined) return undefined
  const { nodeAffinity: _moves, ...rest } = previous ?? {}
  if (next?.nodeAffinity !== undefined) return { ...rest, nodeAffinity: next.nodeAffinity }
  // Cleared as a whole, if there was no other affinity.
  return next === undefined && Object.keys(rest).length === 0 ? undefined : rest
}

const taken = (fields: readonly string[], next: Fields, previous: Fields): Fields => {
  const result: Fields = { ...previous }
  for (const field of fields)
    if (next[field] === undefined) delete result[field]
    else result[field] = next[field]
  return result
}

/** The old spec with what the new one may say otherwise. */
const withScheduling = (next: Fields, previous: Fields): Fields => {
  const spec = taken(schedulingFields, next, previous)
  spec.affinity = withNodeAffinity(next.affinity, previous.affinity)
  if (spec.affinity === undefined) delete spec.affinity
  for (const list of ['containers', 'initContainers']) {
    const given: Fields[] = next[list] ?? []
    const old: Fields[] = spec[list] ?? []
    if (given.length === old.length && old.length > 0)
      spec[list] = old.map((container, i) =>
        container.name === given[i]!.name ? taken(['resources'], given[i]!, container) : container,
      )
  }
  return spec
}

const templateErrors = (next: KubeObject, previous: KubeObject): FieldError[] => {
  const { template } = next.spec
  const old: Fields = previous.spec.template
  if (!mayChangeTemplate(previous))
    return immutable('spec.template', template, old, 'core.v1.PodTemplateSpec')
  const expected = withScheduling(template.spec, old.spec)
  return immutable('spec.template.spec', template.spec, expected, 'core.v1.PodSpec')
}

const completionsErrors = (next: Fields, previous: Fields): FieldError[] => {
  if (next.completionMode !== 'Indexed' || next.completions === previous.completions)
    return immutable('spec.completions', next.completions, previous.completions)
  // An elastic job grows and shrinks with its parallelism.
  return next.completions === next.parallelism || next.completions === undefined
    ? []
    : [
        invalid(
          'spec.completions',
          next.completions,
          'can only be modified in tandem with spec.parallelism',
        ),
      ]
}

const immutableFields: readonly (readonly [field: string, type?: string])[] = [
  ['completionMode'],
  ['podFailurePolicy', 'batch.v1.PodFailurePolicy'],
  ['backoffLimitPerIndex'],
  ['managedBy'],
  ['successPolicy', 'batch.v1.SuccessPolicy'],
]

const spared = (errors: FieldError[], previous: KubeObject): FieldError[] =>
  sparedIfStored(errors, () => validJobSpec('spec', previous.spec))

/** Upstream validates the spec twice on an update, and says everything twice. */
export const validateJobUpdate = (
  next: KubeObject,
  previous: KubeObject,
  metadata: MetadataChecks,
): FieldError[] => [
  ...metadata.create(),
  ...spared(jobErrors(next, previous), previous),
  ...metadata.change(),
  ...spared(validJobSpec('spec', next.spec), previous),
  ...selectorErrors(next.spec),
  ...completionsErrors(next.spec, previous.spec),
  ...immutablePointer('spec.selector', next.spec.selector, previous.spec.selector),
  ...templateErrors(next, previous),
  ...immutableFields
    .flatMap(([field, type]) =>
      immutable(child('spec', field), next.spec[field], previous.spec[field], type),
    )
    .map(shownAsJson),
]
