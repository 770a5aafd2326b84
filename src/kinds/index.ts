/** Every kind with behaviour of its own, one line a file. A kind without any is a row of facts (openapi/data). */

import type { KindDefinition } from '#registry/resource-definition.js'
import controllerRevision from './apps/controller-revision.js'
import daemonSet from './apps/daemon-set.js'
import deployment from './apps/deployment.js'
import replicaSet from './apps/replica-set.js'
import statefulSet from './apps/stateful-set.js'
import cronJob from './batch/cron-job.js'
import job from './batch/job.js'
import binding from './core/binding.js'
import componentStatus from './core/component-status.js'
import configMap from './core/config-map.js'
import namespace from './core/namespace.js'
import node from './core/node.js'
import pod from './core/pod.js'
import podTemplate from './core/pod-template.js'
import replicationController from './core/replication-controller.js'
import secret from './core/secret.js'
import serviceAccount from './core/service-account.js'
import { groupKinds } from './group-kinds.js'
import { selectableFieldsOf } from './selectable-fields.js'
import { cellsOf, rowConditionsOf } from './table/cells-by-kind.js'

/** Adds the row, the selectable fields and the conditions that the tables by kind know; a kind's own file wins. */
const withRow = (kind: KindDefinition): KindDefinition => ({
  cells: cellsOf(kind),
  rowConditions: rowConditionsOf(kind),
  ...selectableFieldsOf(kind),
  ...kind,
})

export const kinds: readonly KindDefinition[] = [
  binding,
  configMap,
  namespace,
  node,
  pod,
  podTemplate,
  replicationController,
  secret,
  serviceAccount,
  controllerRevision,
  daemonSet,
  deployment,
  replicaSet,
  statefulSet,
  cronJob,
  job,
  componentStatus,
  ...groupKinds,
].map(withRow)
