/** What admission notes for the audit log (apiserver, pkg/admission/audit.go). */
import { isQualifiedName } from '#api/names.js'
import type { AdmissionAttributes } from '#registry/admission.js'

/** A key must be a domain, a slash and a name; annotations with other keys are dropped. */
const isKey = (key: string): boolean =>
  key.split('/').length === 2 && isQualifiedName(key).length === 0

export const annotateAudit = (
  { ctx: { audit } }: Pick<AdmissionAttributes, 'ctx'>,
  key: string,
  value: string,
): void => {
  if (audit !== undefined && isKey(key)) audit.annotate(key, value)
}
