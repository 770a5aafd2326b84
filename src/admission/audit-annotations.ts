/** What admission tells the audit log (apiserver, pkg/admission/audit.go). */
import { isQualifiedName } from '#api/names.js'
import type { AdmissionAttributes } from '#registry/admission.js'

/** A key is a domain, a slash and a name: what webhooks and policies call otherwise is not told. */
const isKey = (key: string): boolean =>
  key.split('/').length === 2 && isQualifiedName(key).length === 0

export const annotateAudit = (
  { ctx: { audit } }: Pick<AdmissionAttributes, 'ctx'>,
  key: string,
  value: string,
): void => {
  if (audit !== undefined && isKey(key)) audit.annotate(key, value)
}
