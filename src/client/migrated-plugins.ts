/** The plugins that Kubernetes once had for volumes of clouds, and the drivers that took their place (csi-translation-lib). */
interface MigratedPlugin {
  /** The field of a volume's spec that configures the plugin. */
  readonly source: string
  readonly plugin: string
  readonly driver: string
}

export const migratedPlugins: readonly MigratedPlugin[] = [
  ['awsElasticBlockStore', 'aws-ebs', 'ebs.csi.aws.com'],
  ['azureDisk', 'azure-disk', 'disk.csi.azure.com'],
  ['azureFile', 'azure-file', 'file.csi.azure.com'],
  ['cinder', 'cinder', 'cinder.csi.openstack.org'],
  ['gcePersistentDisk', 'gce-pd', 'pd.csi.storage.gke.io'],
  ['portworxVolume', 'portworx-volume', 'pxd.portworx.com'],
  ['vsphereVolume', 'vsphere-volume', 'csi.vsphere.vmware.com'],
].map(([source, plugin, driver]) => ({
  source: source!,
  plugin: `kubernetes.io/${plugin}`,
  driver: driver!,
}))
