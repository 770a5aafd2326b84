/**
 * Functions of kube-apiserver's CEL that this server does not evaluate: expressions that call them are let through
 * when they are written, and fail when they run.
 */
export const notEvaluated: ReadonlySet<string> = new Set(
  `add allowed asApproximateFloat asInteger charAt check cidr containsCIDR containsIP distinct error errored family
  fieldSelector first flatten format group hasValue ip isCanonical isGlobalUnicast isInteger isLinkLocalMulticast
  isLinkLocalUnicast isLoopback isSemver isUnspecified join labelSelector last major masked minor named namespace
  optMap optFlatMap patch path prefixLength quote range reason resource reverse semver serviceAccount
  equivalent intersects sign slice sort sortBy sub subresource transformList transformMap transformMapEntry
  existsOne unwrap unwrapOpt validate getQuery replace sum`.split(/\s+/),
)

/** What stands before the dot of such functions: `sets.contains(…)`. */
export const namespaces: ReadonlySet<string> = new Set(['sets', 'ip', 'format', 'lists', 'strings'])

/** `all(key, value, …)`: macros over two variables, of which the library knows none. */
export const overTwoVariables = /\.(?:all|exists|exists_one|existsOne)\(\s*\w+\s*,\s*\w+\s*,/
