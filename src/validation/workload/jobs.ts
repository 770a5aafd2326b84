/** Jobs (kubernetes, batch/validation). */
import { child, type FieldError, index, invalid, notSupported, required } from '#api/field-error.js'
import { jsonEqual } from '#api/json-object.js'
import { isDns1123Label, isDns1123Subdomain } from '#api/names.js'
import type { Fields, JsonValue, KubeObject } from '#api/object.js'
import { immutable } from '../immutable.js'
import { validLabelSelector } from '../label-selector.js'
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

const managedByErrors = (path: string, name: string | undefined): FieldError[] => {
  if (name === undefined) return []
  const [host = '', ...rest] = name.split('/')
  if (host === '' || rest.length === 0 || rest.join('/') === '')
    return [invalid(path, name, 'must be a domain-prefixed path (such as "acme.io/foo")')]
  return isDns1123Subdomain(host).map((message) => invalid(path, host, message))
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
    const when = 'when completions are above 100000 and used with backoffLimitPerIndex'
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

const indexedOnly = (path: string, spec: Fields): FieldError[] => {
  const errors = ['backoffLimitPerIndex', 'maxFailedIndexes']
    .filter((field) => spec[field] !== undefined)
    .map((field) => invalid(child(path, field), spec[field], 'requires indexed completion mode'))
  if (spec.successPolicy !== undefined)
    errors.push(
      invalid(
        child(path, 'successPolicy'),
        { Rules: spec.successPolicy.rules ?? [] },
        'requires indexed completion mode',
      ),
    )
  return errors
}

const modeErrors = (path: string, spec: Fields): FieldError[] => {
  const at = child(path, 'completionMode')
  if (spec.completionMode !== undefined && !completionModes.includes(spec.completionMode))
    return [notSupported(at, spec.completionMode, completionModes)]
  return spec.completionMode === 'Indexed' ? indexedErrors(path, spec) : indexedOnly(path, spec)
}

const replacementErrors = (path: string, spec: Fields): FieldError[] => {
  const policy = spec.podReplacementPolicy
  if (policy === undefined) return []
  if (!replacements.includes(policy)) return [notSupported(path, policy, replacements)]
  return spec.podFailurePolicy !== undefined && policy !== 'Failed'
    ? [notSupported(path, policy, ['Failed'])]
    : []
}

const restartErrors = (path: string, spec: Fields, wasDefaulted: boolean): FieldError[] => {
  const policy = spec.template.spec.restartPolicy
  const at = child(path, 'template', 'spec', 'restartPolicy')
  // Upstream's default for every template is the one that a job cannot have.
  if (wasDefaulted || policy === 'Always')
    return [required(at, 'valid values: "OnFailure", "Never"')]
  if (policy !== 'OnFailure' && policy !== 'Never')
    return [notSupported(at, policy, ['OnFailure', 'Never'])]
  return spec.podFailurePolicy !== undefined && policy !== 'Never'
    ? [invalid(at, policy, 'only "Never" is supported when podFailurePolicy is specified')]
    : []
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
  ...(spec.successPolicy !== undefined && spec.completionMode === 'Indexed'
    ? validSuccessPolicy(child(path, 'successPolicy'), spec)
    : []),
  ...replacementErrors(child(path, 'podReplacementPolicy'), spec),
  ...validPodTemplate(child(path, 'template'), spec.template),
  ...restartErrors(path, spec, false),
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

const generatedSelectorErrors = ({ metadata, spec }: KubeObject): FieldError[] => {
  if (spec.manualSelector || !spec.selector) return []
  const labels: Fields = spec.template.metadata?.labels ?? {}
  const { uid = '', name = '' } = metadata
  const expected = Object.fromEntries([
    ...uidLabels.map((key) => [key, uid]),
    ...nameLabels.map((key) => [key, name]),
  ]) as Record<string, string>
  const order = [uidLabels[1]!, nameLabels[1]!, uidLabels[0]!, nameLabels[0]!]
  return [
    ...order.flatMap((key) => hasLabel(labels, key, expected[key]!)),
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
            printableLabels(labels),
            '`selector` does not match template `labels`',
          ),
        ]
      : []),
  ]
}

/** The last pod of an indexed job must have a hostname too. */
const hostnameErrors = ({ metadata, spec }: KubeObject): FieldError[] => {
  if (spec.completionMode !== 'Indexed' || !(spec.completions > 0)) return []
  const hostname = `${metadata.name}-${spec.completions - 1}`
  return isDns1123Label(hostname).length === 0
    ? []
    : [
        invalid(
          'metadata.name',
          metadata.name,
          `will not able to create pod with invalid DNS label: ${hostname}`,
        ),
      ]
}

export const validateJob = (job: KubeObject): FieldError[] => [
  ...generatedSelectorErrors(job),
  ...validJobSpec('spec', job.spec),
  ...selectorErrors(job.spec),
  ...hostnameErrors(job),
]

const schedulingFields = ['affinity', 'nodeSelector', 'schedulingGates', 'tolerations']

/** A suspended job that never started may still be told where to run and what it may use. */
const withoutScheduling = (template: Fields): JsonValue => {
  const { labels: _labels, annotations: _annotations, ...metadata } = template.metadata ?? {}
  const spec = Object.fromEntries(
    Object.entries(template.spec as Fields).filter(([key]) => !schedulingFields.includes(key)),
  )
  for (const list of ['containers', 'initContainers'])
    if (spec[list])
      spec[list] = (spec[list] as Fields[]).map(({ resources: _resources, ...rest }) => rest)
  return { metadata, spec } as JsonValue
}

const templateErrors = (next: KubeObject, previous: KubeObject): FieldError[] => {
  const mayChange =
    previous.spec.suspend === true &&
    previous.status?.startTime === undefined &&
    jsonEqual(withoutScheduling(next.spec.template), withoutScheduling(previous.spec.template))
  return mayChange
    ? []
    : immutableTemplate('spec.template', next.spec.template, previous.spec.template)
}

const immutableTemplate = (path: string, next: Fields, previous: Fields): FieldError[] =>
  jsonEqual(next as JsonValue, previous as JsonValue)
    ? []
    : [invalid(path, next, 'field is immutable')]

const completionsErrors = (next: Fields, previous: Fields): FieldError[] => {
  if (next.completionMode !== 'Indexed' || next.completions === previous.completions)
    return immutable('spec.completions', next.completions, previous.completions)
  // An elastic job grows and shrinks with its parallelism.
  return next.completions === next.parallelism &&
    next.completions !== undefined &&
    previous.completions !== undefined
    ? []
    : [
        invalid(
          'spec.completions',
          next.completions ?? null,
          `can only be modified in tandem with spec.parallelism`,
        ),
      ]
}

export const validateJobUpdate = (next: KubeObject, previous: KubeObject): FieldError[] => [
  ...generatedSelectorErrors(next),
  ...validJobSpec('spec', next.spec),
  ...selectorErrors(next.spec),
  ...completionsErrors(next.spec, previous.spec),
  ...immutable('spec.selector', next.spec.selector, previous.spec.selector),
  ...templateErrors(next, previous),
  ...[
    'completionMode',
    'podFailurePolicy',
    'backoffLimitPerIndex',
    'managedBy',
    'successPolicy',
  ].flatMap((field) => immutable(child('spec', field), next.spec[field], previous.spec[field])),
]
