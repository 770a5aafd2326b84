/**
 * Fields that a field selector may name, besides metadata.name and metadata.namespace; read from the storage version.
 * Pods say theirs in their own file.
 */

import { formatGroupKind, type GroupKind } from '#api/group-version.js'
import type { KubeObject } from '#api/object.js'
import { goQuote } from '#go/quote.js'
import type { KindDefinition } from '#registry/resource-definition.js'

type Row = Pick<KindDefinition, 'selectableFields' | 'ownFieldLabels' | 'fieldLabelError'>
type Read = (object: KubeObject) => string

const own = (selectableFields: Record<string, Read>): Row => ({
  selectableFields,
  ownFieldLabels: true,
})

const reference = (prefix: string): Record<string, Read> =>
  Object.fromEntries(
    ['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'].map(
      (field): [string, Read] => [`${prefix}.${field}`, (o) => o.involvedObject?.[field] ?? ''],
    ),
  )
const reason: Read = (o) => o.reason ?? ''
const type: Read = (o) => o.type ?? ''
const reportingController: Read = (o) => o.reportingComponent ?? ''

const rows: Readonly<Record<string, Row>> = {
  Event: own({
    ...reference('involvedObject'),
    reason,
    type,
    reportingComponent: reportingController,
    source: (o) => o.source?.component || reportingController(o),
  }),
  'Event.events.k8s.io': own({ ...reference('regarding'), reason, type, reportingController }),
  Namespace: own({ 'status.phase': (o) => o.status?.phase ?? '' }),
  Node: own({ 'spec.unschedulable': (o) => String(o.spec?.unschedulable ?? false) }),
  ReplicationController: own({ 'status.replicas': (o) => String(o.status?.replicas ?? 0) }),
  Secret: own({ type }),
  Service: own({
    'spec.clusterIP': (o) => o.spec?.clusterIP ?? '',
    'spec.type': (o) => o.spec?.type ?? '',
  }),
  'Job.batch': {
    ...own({ 'status.successful': (o) => String(o.status?.succeeded ?? 0) }),
    fieldLabelError: (field) => `field label ${goQuote(field)} not supported for Job`,
  },
  'CertificateSigningRequest.certificates.k8s.io': own({
    'spec.signerName': (o) => o.spec?.signerName ?? '',
  }),
  'ResourceSlice.resource.k8s.io': {
    ...own({
      'spec.nodeName': (o) => o.spec?.nodeName ?? '',
      'spec.driver': (o) => o.spec?.driver ?? '',
    }),
    fieldLabelError: (field) =>
      `field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: ${field}`,
  },
}

export const selectableFieldsOf = (kind: GroupKind): Row | undefined => rows[formatGroupKind(kind)]
