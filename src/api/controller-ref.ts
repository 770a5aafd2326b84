import type { ObjectMeta, OwnerReference } from './object.js'

/** The owner that controls the object; there is at most one (apimachinery, metav1.GetControllerOf). */
export const controllerRefOf = ({
  metadata,
}: {
  readonly metadata: Pick<ObjectMeta, 'ownerReferences'>
}): OwnerReference | undefined => metadata.ownerReferences?.find(({ controller }) => controller)
