/** A Scale as a table row (printers/internalversion; custom resources have columns of their own in apiextensions). */
import { parseTime } from '#api/clock.js'
import type { KubeObject } from '#api/object.js'
import { schemaNames } from '#openapi/schemas.js'
import { humanDuration } from './human-duration.js'
import type { ResourceDefinition, TableColumn } from './resource-definition.js'

const autoscaling = 'io.k8s.api.autoscaling.v1'

const column = (
  name: string,
  type: TableColumn['type'],
  describedBy: string,
  format = '',
): TableColumn => ({ name, type, format, priority: 0, describedBy })

const cellsOf = (
  { metadata, spec, status }: KubeObject,
  now: number,
  noReplicas: 0 | null,
): unknown[] => [
  metadata.name,
  spec?.replicas ?? noReplicas,
  status?.replicas ?? 0,
  !metadata.creationTimestamp
    ? '<unknown>'
    : humanDuration(now - parseTime(metadata.creationTimestamp)),
]

export const scaleTable = (isCustom: boolean): Pick<ResourceDefinition, 'columns' | 'cells'> => ({
  columns: [
    column('Name', 'string', `${schemaNames.objectMeta}.name`, isCustom ? 'name' : ''),
    {
      ...column('Desired', 'integer', `${autoscaling}.ScaleSpec.replicas`),
      ...(isCustom && { description: 'Number of desired replicas' }),
    },
    {
      ...column('Available', 'integer', `${autoscaling}.ScaleStatus.replicas`),
      ...(isCustom && { description: 'Number of actual replicas' }),
    },
    column('Age', isCustom ? 'date' : 'string', `${schemaNames.objectMeta}.creationTimestamp`),
  ],
  // Columns of custom resources are read off the JSON, which leaves zero replicas out.
  cells: (scale, now) => cellsOf(scale, now, isCustom ? null : 0),
})
