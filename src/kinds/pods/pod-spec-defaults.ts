/**
 * Defaults of pod specs, in pods and in every template (kubernetes, pkg/apis/core/v1/defaults.go). What only pods get
 * is in pod-defaults.ts. Change their argument in place.
 */
import type { Fields } from '#api/object.js'
import { defaultPullPolicy } from './image-tag.js'
import { roundResourceList } from './resource-lists.js'
import { defaultVolume } from './volume-defaults.js'

const defaultHttpGet = (httpGet: Fields | undefined): void => {
  if (httpGet === undefined) return
  httpGet.path ??= '/'
  httpGet.scheme ??= 'HTTP'
}

const defaultProbe = (probe: Fields | undefined): void => {
  if (probe === undefined) return
  defaultHttpGet(probe.httpGet)
  probe.timeoutSeconds ??= 1
  probe.periodSeconds ??= 10
  probe.successThreshold ??= 1
  probe.failureThreshold ??= 3
}

export const roundResources = (resources: Fields | undefined): void => {
  roundResourceList(resources?.limits)
  roundResourceList(resources?.requests)
}

const defaultContainer = (container: Fields): void => {
  for (const { valueFrom } of container.env ?? [])
    if (valueFrom?.fieldRef) valueFrom.fieldRef.apiVersion ??= 'v1'
  roundResources(container.resources)
  defaultProbe(container.livenessProbe)
  defaultProbe(container.readinessProbe)
  defaultProbe(container.startupProbe)
  defaultHttpGet(container.lifecycle?.postStart?.httpGet)
  defaultHttpGet(container.lifecycle?.preStop?.httpGet)
  container.terminationMessagePath ??= '/dev/termination-log'
  container.terminationMessagePolicy ??= 'File'
  container.imagePullPolicy ??= defaultPullPolicy(container.image ?? '')
}

const dropStopSignal = (container: Fields): void => {
  if (container.lifecycle?.stopSignal === undefined) return
  delete container.lifecycle.stopSignal
  if (Object.keys(container.lifecycle).length === 0) delete container.lifecycle
}

/** Fields of features that are off in v1.36. */
export const dropDisabledOfPodSpec = (spec: Fields | undefined | null): void => {
  if (!spec) return
  delete spec.schedulingGroup
  for (const list of [spec.initContainers, spec.containers, spec.ephemeralContainers])
    for (const container of list ?? []) dropStopSignal(container)
}

export const defaultPodSpec = (spec: Fields): void => {
  // The same under its old name; the new one wins.
  const account = spec.serviceAccountName ?? spec.serviceAccount
  if (account === undefined) delete spec.serviceAccount
  else if (spec.serviceAccount !== account || spec.serviceAccountName !== account) {
    spec.serviceAccountName = account
    spec.serviceAccount = account
  }
  for (const volume of spec.volumes ?? []) defaultVolume(volume)
  for (const list of [spec.initContainers, spec.containers, spec.ephemeralContainers])
    for (const container of list ?? []) defaultContainer(container)
  roundResourceList(spec.overhead)
  roundResources(spec.resources)
  spec.restartPolicy ??= 'Always'
  spec.terminationGracePeriodSeconds ??= 30
  spec.dnsPolicy ??= 'ClusterFirst'
  spec.securityContext ??= {}
  spec.schedulerName ??= 'default-scheduler'
}
