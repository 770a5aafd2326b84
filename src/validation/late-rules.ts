/**
 * Rules that upstream did not have from the start. An object that was stored before them, or past them as by a Binding's
 * annotations, may be updated though it still breaks them (kubernetes, pkg/api/pod: GetValidationOptionsFromPodSpecAndMeta).
 */
import type { FieldError } from '#api/field-error.js'

type LateRule =
  | 'deletion cost'
  | 'huge pages'
  | 'label values of affinity'
  | 'label values of node affinity'
  | 'selectors of spread'
  | 'sysctls of the host'
  | 'resize of init containers'
  | 'devices of own users'

export const late = (lateRule: LateRule, errors: readonly FieldError[]): FieldError[] =>
  errors.map((error) => ({ ...error, lateRule }))

/** What of an update is wrong that the stored object had not wrong already. `stored` gives what is wrong with that one. */
export const sparedIfStored = (
  errors: FieldError[],
  stored: () => readonly FieldError[],
): FieldError[] => {
  if (errors.every(({ lateRule }) => lateRule === undefined)) return errors
  const broken = new Set(stored().map(({ lateRule }) => lateRule))
  return errors.filter(({ lateRule }) => lateRule === undefined || !broken.has(lateRule))
}
