/** Flags of kube-controller-manager v1.36 that mean nothing here. */

import { ignoredByProcesses } from '#client/upstream-flags.js'
import { type Flag, flagsOf } from '#program/flags.js'

export const ignoredFlags: readonly Flag[] = [
  ...ignoredByProcesses,
  ...flagsOf(
    'boolean',
    `
  configure-cloud-routes disable-attach-detach-reconcile-sync disable-force-detach-on-timeout
  enable-dynamic-provisioning enable-garbage-collector enable-hostpath-provisioner enable-leader-migration
`,
  ),
  ...flagsOf(
    'string',
    `
  attach-detach-reconcile-sync-period cidr-allocator-type cloud-config cloud-provider cluster-name
  cluster-signing-kube-apiserver-client-cert-file cluster-signing-kube-apiserver-client-key-file
  cluster-signing-kubelet-client-cert-file cluster-signing-kubelet-client-key-file
  cluster-signing-kubelet-serving-cert-file cluster-signing-kubelet-serving-key-file
  cluster-signing-legacy-unknown-cert-file cluster-signing-legacy-unknown-key-file concurrent-service-syncs
  controller-shutdown-timeout controller-start-interval external-cloud-volume-plugin flex-volume-plugin-dir
  leader-migration-config min-resync-period namespace-sync-period pv-recycler-increment-timeout-nfs
  pv-recycler-minimum-timeout-hostpath pv-recycler-minimum-timeout-nfs pv-recycler-pod-template-filepath-hostpath
  pv-recycler-pod-template-filepath-nfs pv-recycler-timeout-increment-hostpath pvclaimbinder-sync-period
  route-reconciliation-period
`,
  ),
]
