/** Extended resources that nodes have as devices (KEP-5004): by what names they, and the claims made for them, are known. */

/** Each DeviceClass stands for the resource of this prefix and its name, besides the one that it may name itself. */
export const implicitResourcePrefix = 'deviceclass.resource.kubernetes.io/'

/** On the claim that the scheduler makes for the extended resources of a Pod. */
export const extendedResourceAnnotation = 'resource.kubernetes.io/extended-resource-claim'
