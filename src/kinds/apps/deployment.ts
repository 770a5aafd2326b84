import type { KubeObject } from '#api/object.js'
import { semanticEqual } from '#json/object.js'
import { defineKind } from '#registry/resource-definition.js'
import {
  rollbackTo,
  validateDeployment,
  validateDeploymentStatus,
  validateDeploymentUpdate,
} from '#validation/workload/apps.js'
import {
  nameWarnings,
  templateWarnings,
  templateWarningsOnUpdate,
} from '#validation/workload/warnings.js'
import { ownStatus, specStays } from '../status.js'
import { readInteger } from '../workloads/integer-annotation.js'
import { defaultTemplate, dropDisabledOfTemplate, sampleSpec } from '../workloads/pod-template.js'
import { noReplicas, scale } from '../workloads/scale.js'

const readRollback = ({ metadata }: KubeObject): void => {
  const text = metadata.annotations?.[rollbackTo]
  if (text === undefined) return
  const { [rollbackTo]: _, ...others } = metadata.annotations!
  const prefix = `failed to parse annotation[${rollbackTo}]=${text} as int64: `
  if (text !== '') others[rollbackTo] = readInteger('Deployment', text, prefix).toString()
  if (Object.keys(others).length === 0) delete metadata.annotations
  else metadata.annotations = others
}

const writeDefaults = (deployment: KubeObject): void => {
  readRollback(deployment)
  const { spec } = deployment
  defaultTemplate(spec.template)
  spec.replicas ??= 1
  const { strategy } = spec
  strategy.type ??= 'RollingUpdate'
  if (strategy.type === 'RollingUpdate') {
    strategy.rollingUpdate ??= {}
    strategy.rollingUpdate.maxUnavailable ??= '25%'
    strategy.rollingUpdate.maxSurge ??= '25%'
  }
  spec.revisionHistoryLimit ??= 10
  spec.progressDeadlineSeconds ??= 600
}

export default defineKind({
  group: 'apps',
  version: 'v1',
  kind: 'Deployment',
  fieldAnnotations: [rollbackTo],
  subresources: [scale()],
  strategy: {
    metadataRevalidation: 'change',
    dropDisabled: dropDisabledOfTemplate,
    completeEmpty: noReplicas,
    default: writeDefaults,
    defaultsMetadata: true,
    ...ownStatus('io.k8s.api.apps.v1.DeploymentStatus'),
    // Annotations carry what older versions had in the spec.
    generation: (next, previous) =>
      !semanticEqual(next.spec, previous.spec) ||
      !semanticEqual(next.metadata.annotations ?? {}, previous.metadata.annotations ?? {}),
    validate: validateDeployment,
    validateUpdate: validateDeploymentUpdate,
    warningsOnCreate: (object) => [...nameWarnings(object), ...templateWarnings(object)],
    warningsOnUpdate: templateWarningsOnUpdate,
    status: { ...specStays({ labels: true }), validateUpdate: validateDeploymentStatus },
  },
  sample: { metadata: { name: 'sample' }, spec: sampleSpec },
})
