import type { Admission } from '#registry/admission.js'

/** Lets everything pass. */
export const admitAll: Admission = {
  mutate: () => {},
  validate: () => {},
}
