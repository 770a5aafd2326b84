import type { KubeObject } from '#api/object.js'
import { defineKind } from '#registry/resource-definition.js'
import {
  cronJobWarnings,
  cronJobWarningsOnUpdate,
  validateCronJob,
  validateCronJobUpdate,
} from '#validation/workload/cron-jobs.js'
import { dropDisabledOfPodSpec } from '../pods/pod-spec-defaults.js'
import { ownStatus, specStays } from '../status.js'
import { defaultTemplate } from '../workloads/pod-template.js'
import { defaultFailurePolicy } from './job-spec.js'

export default defineKind({
  group: 'batch',
  version: 'v1',
  kind: 'CronJob',
  strategy: {
    statusMetadataRevalidation: 'none',
    metadataRevalidation: 'change',
    dropDisabled: ({ spec }) => dropDisabledOfPodSpec(spec?.jobTemplate?.spec?.template?.spec),
    default: ({ spec }: KubeObject) => {
      defaultTemplate(spec.jobTemplate.spec?.template)
      defaultFailurePolicy(spec.jobTemplate.spec)
      spec.concurrencyPolicy ??= 'Allow'
      spec.suspend ??= false
      spec.successfulJobsHistoryLimit ??= 3
      spec.failedJobsHistoryLimit ??= 1
    },
    ...ownStatus('io.k8s.api.batch.v1.CronJobStatus'),
    validate: validateCronJob,
    validateUpdate: validateCronJobUpdate,
    warningsOnCreate: cronJobWarnings,
    warningsOnUpdate: cronJobWarningsOnUpdate,
    status: specStays(),
  },
  sample: {
    metadata: { name: 'sample' },
    spec: {
      schedule: '*/5 * * * *',
      jobTemplate: {
        spec: {
          template: {
            spec: {
              restartPolicy: 'Never',
              containers: [{ name: 'main', image: 'example.com/main:1' }],
            },
          },
        },
      },
    },
  },
})
