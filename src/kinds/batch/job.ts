import type { KubeObject } from '#api/object.js'
import { defineKind } from '#registry/resource-definition.js'
import { validateJobStatus } from '#validation/workload/job-status.js'
import { validateJob, validateJobUpdate } from '#validation/workload/jobs.js'
import { jobSpecWarnings, nameWarnings } from '#validation/workload/warnings.js'
import { ownStatus, specStays } from '../status.js'
import { defaultTemplate, dropDisabledOfTemplate } from '../workloads/pod-template.js'
import { defaultJobSpec, generateSelector, showsGeneratedLabels } from './job-spec.js'

const writeDefaults = (job: KubeObject): void => {
  const { spec } = job
  defaultTemplate(spec.template)
  defaultJobSpec(spec)
  const labels = spec.template.metadata?.labels
  if (labels !== undefined) job.metadata.labels ??= labels
}

const status = ownStatus('io.k8s.api.batch.v1.JobStatus')

export default defineKind({
  group: 'batch',
  version: 'v1',
  kind: 'Job',
  strategy: {
    dropDisabled: dropDisabledOfTemplate,
    defaultGarbageCollectionWarning:
      'child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning',
    default: writeDefaults,
    prepareForCreate: (job, ctx) => {
      generateSelector(job)
      status.prepareForCreate(job, ctx)
    },
    prepareForUpdate: status.prepareForUpdate,
    // What has no labels takes those of its template, as it would whenever upstream reads it.
    canonicalize: (job) => {
      const labels = job.spec.template.metadata?.labels
      if (labels !== undefined) job.metadata.labels ??= { ...labels }
    },
    isFilledOnRead: showsGeneratedLabels,
    validate: validateJob,
    metadataRevalidation: 'placed',
    validateUpdate: (next, previous, _, metadata) => validateJobUpdate(next, previous, metadata),
    warningsOnCreate: (job) => [...nameWarnings(job), ...jobSpecWarnings('spec', job.spec)],
    warningsOnUpdate: (next, previous) =>
      next.metadata.generation === previous.metadata.generation
        ? []
        : jobSpecWarnings('spec', next.spec),
    status: { ...specStays(), validateUpdate: validateJobStatus },
    defaultGarbageCollection: 'orphan',
  },
  sample: {
    metadata: { name: 'sample' },
    spec: {
      template: {
        spec: {
          restartPolicy: 'Never',
          containers: [{ name: 'main', image: 'example.com/main:1' }],
        },
      },
    },
  },
})
