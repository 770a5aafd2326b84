/** A rule for the requests that a webhook or a policy wants (admissionregistration, NamedRuleWithOperations). */
export interface MatchRule {
  operations?: string[]
  apiGroups?: string[]
  apiVersions?: string[]
  resources?: string[]
  resourceNames?: string[]
  scope?: string
}
