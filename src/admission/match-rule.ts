/** A rule that says which requests a webhook or a policy is about (admissionregistration, NamedRuleWithOperations). */
export interface MatchRule {
  operations?: string[]
  apiGroups?: string[]
  apiVersions?: string[]
  resources?: string[]
  resourceNames?: string[]
  scope?: string
}
