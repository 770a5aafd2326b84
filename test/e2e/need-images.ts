/** Tests of upstream's whose Pods run an image of theirs, by patterns of their names. Here a Pod is a process of the host. */
export const needImages: readonly string[] = [
  'AdmissionWebhook',
  'CustomResourceConversionWebhook',
  'CustomResourceFieldSelectors',
  'Aggregator',
  'namespace deletion should delete pod first',
]
