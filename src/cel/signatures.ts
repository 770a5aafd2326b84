/**
 * The functions of kube-apiserver's CEL: the standard library, cel-go's extensions in the versions that Kubernetes
 * has on, and Kubernetes' own (apiserver, pkg/cel/environment/base.go).
 */

/** One line for each of some types; `T` stands for the type, `N` for its name in ids. */
const each = (names: string, line: string): string =>
  names
    .split(' ')
    .map((name) => line.replaceAll('$T', name).replaceAll('$N', typeIds[name] ?? name))
    .join('\n')

const typeIds: Readonly<Record<string, string>> = {
  duration: 'google.protobuf.Duration',
  timestamp: 'google.protobuf.Timestamp',
}

const ordered: readonly (readonly [string, string, string])[] = [
  ['bool', 'bool', 'bool'],
  ['int64', 'int', 'int'],
  ['int64_double', 'int', 'double'],
  ['int64_uint64', 'int', 'uint'],
  ['uint64', 'uint', 'uint'],
  ['uint64_double', 'uint', 'double'],
  ['uint64_int64', 'uint', 'int'],
  ['double', 'double', 'double'],
  ['double_int64', 'double', 'int'],
  ['double_uint64', 'double', 'uint'],
  ['string', 'string', 'string'],
  ['bytes', 'bytes', 'bytes'],
  ['timestamp', 'timestamp', 'timestamp'],
  ['duration', 'duration', 'duration'],
]
const comparison = (name: string, id: string): string =>
  ordered.map(([suffix, a, b]) => `${id}_${suffix}: ${name}(${a}, ${b}) -> bool`).join('\n')

const operators = `
conditional: _?_:_(bool, A, A) -> A
logical_and: _&&_(bool, bool) -> bool
logical_or: _||_(bool, bool) -> bool
logical_not: !_(bool) -> bool
not_strictly_false: @not_strictly_false(bool) -> bool
equals: _==_(A, A) -> bool
not_equals: _!=_(A, A) -> bool
add_bytes: _+_(bytes, bytes) -> bytes
add_double: _+_(double, double) -> double
add_duration_duration: _+_(duration, duration) -> duration
add_duration_timestamp: _+_(duration, timestamp) -> timestamp
add_timestamp_duration: _+_(timestamp, duration) -> timestamp
add_int64: _+_(int, int) -> int
add_list: _+_(list(A), list(A)) -> list(A)
add_string: _+_(string, string) -> string
add_uint64: _+_(uint, uint) -> uint
divide_double: _/_(double, double) -> double
divide_int64: _/_(int, int) -> int
divide_uint64: _/_(uint, uint) -> uint
modulo_int64: _%_(int, int) -> int
modulo_uint64: _%_(uint, uint) -> uint
multiply_double: _*_(double, double) -> double
multiply_int64: _*_(int, int) -> int
multiply_uint64: _*_(uint, uint) -> uint
negate_double: -_(double) -> double
negate_int64: -_(int) -> int
subtract_double: _-_(double, double) -> double
subtract_duration_duration: _-_(duration, duration) -> duration
subtract_int64: _-_(int, int) -> int
subtract_timestamp_duration: _-_(timestamp, duration) -> timestamp
subtract_timestamp_timestamp: _-_(timestamp, timestamp) -> duration
subtract_uint64: _-_(uint, uint) -> uint
index_list: _[_](list(A), int) -> A
index_map: _[_](map(A, B), A) -> B
in_list: @in(A, list(A)) -> bool
in_map: @in(A, map(A, B)) -> bool
optional_list_index_int: _[_](opt(list(V)), int) -> opt(V)
optional_map_index_value: _[_](opt(map(K, V)), K) -> opt(V)
list_optindex_optional_int: _[?_](list(V), int) -> opt(V)
optional_list_optindex_optional_int: _[?_](opt(list(V)), int) -> opt(V)
map_optindex_optional_value: _[?_](map(K, V), K) -> opt(V)
optional_map_optindex_optional_value: _[?_](opt(map(K, V)), K) -> opt(V)
`

const sizes = `
size_bytes: size(bytes) -> int
bytes_size: bytes::size() -> int
size_list: size(list(A)) -> int
list_size: list(A)::size() -> int
size_map: size(map(A, B)) -> int
map_size: map(A, B)::size() -> int
size_string: size(string) -> int
string_size: string::size() -> int
`

const conversions = `
type: type(A) -> type(A)
bool_to_bool: bool(bool) -> bool
string_to_bool: bool(string) -> bool
bytes_to_bytes: bytes(bytes) -> bytes
string_to_bytes: bytes(string) -> bytes
double_to_double: double(double) -> double
int64_to_double: double(int) -> double
string_to_double: double(string) -> double
uint64_to_double: double(uint) -> double
duration_to_duration: duration(duration) -> duration
int64_to_duration: duration(int) -> duration
string_to_duration: duration(string) -> duration
to_dyn: dyn(A) -> dyn
int64_to_int64: int(int) -> int
double_to_int64: int(double) -> int
duration_to_int64: int(duration) -> int
string_to_int64: int(string) -> int
timestamp_to_int64: int(timestamp) -> int
uint64_to_int64: int(uint) -> int
string_to_string: string(string) -> string
bool_to_string: string(bool) -> string
bytes_to_string: string(bytes) -> string
double_to_string: string(double) -> string
duration_to_string: string(duration) -> string
int64_to_string: string(int) -> string
timestamp_to_string: string(timestamp) -> string
uint64_to_string: string(uint) -> string
timestamp_to_timestamp: timestamp(timestamp) -> timestamp
int64_to_timestamp: timestamp(int) -> timestamp
string_to_timestamp: timestamp(string) -> timestamp
uint64_to_uint64: uint(uint) -> uint
double_to_uint64: uint(double) -> uint
int64_to_uint64: uint(int) -> uint
string_to_uint64: uint(string) -> uint
ip_to_string: string(net.IP) -> string
cidr_to_string: string(net.CIDR) -> string
`

const times = [
  each(
    'getFullYear getMonth getDayOfYear getDayOfMonth getDate getDayOfWeek getHours getMinutes getSeconds getMilliseconds',
    `timestamp_$T: timestamp::$T() -> int\ntimestamp_$T_with_tz: timestamp::$T(string) -> int`,
  ),
  each('getHours getMinutes getSeconds getMilliseconds', 'duration_$T: duration::$T() -> int'),
].join('\n')

const strings = `
contains_string: string::contains(string) -> bool
ends_with_string: string::endsWith(string) -> bool
starts_with_string: string::startsWith(string) -> bool
matches: matches(string, string) -> bool
matches_string: string::matches(string) -> bool
string_char_at_int: string::charAt(int) -> string
string_index_of_string: string::indexOf(string) -> int
string_index_of_string_int: string::indexOf(string, int) -> int
string_last_index_of_string: string::lastIndexOf(string) -> int
string_last_index_of_string_int: string::lastIndexOf(string, int) -> int
string_lower_ascii: string::lowerAscii() -> string
string_replace_string_string: string::replace(string, string) -> string
string_replace_string_string_int: string::replace(string, string, int) -> string
string_split_string: string::split(string) -> list(string)
string_split_string_int: string::split(string, int) -> list(string)
string_substring_int: string::substring(int) -> string
string_substring_int_int: string::substring(int, int) -> string
string_trim: string::trim() -> string
string_upper_ascii: string::upperAscii() -> string
string_format: string::format(list(dyn)) -> string
strings_quote: strings.quote(string) -> string
list_join: list(string)::join() -> string
list_join_string: list(string)::join(string) -> string
string_find_string: string::find(string) -> string
string_find_all_string: string::findAll(string) -> list(string)
string_find_all_string_int: string::findAll(string, int) -> list(string)
`

const comparable = 'int uint double bool duration timestamp string bytes'
const lists = [
  each(comparable, 'list_$T_is_sorted_bool: list($T)::isSorted() -> bool'),
  each('int uint double duration', 'list_$T_sum_$T: list($T)::sum() -> $T'),
  each(comparable, 'list_$T_max_$T: list($T)::max() -> $T'),
  each(comparable, 'list_$T_min_$T: list($T)::min() -> $T'),
  each(comparable, 'list_$N_sort: list($T)::sort() -> list($T)'),
  each(
    comparable,
    'list_$N_sortByAssociatedKeys: list(T)::@sortByAssociatedKeys(list($T)) -> list(T)',
  ),
  `
list_a_index_of_int: list(A)::indexOf(A) -> int
list_a_last_index_of_int: list(A)::lastIndexOf(A) -> int
list_slice: list(T)::slice(int, int) -> list(T)
list_flatten: list(list(T))::flatten() -> list(T)
list_flatten_int: list(dyn)::flatten(int) -> list(dyn)
lists_range: lists.range(int) -> list(int)
list_reverse: list(T)::reverse() -> list(T)
list_distinct: list(T)::distinct() -> list(T)
list_sets_contains_list: sets.contains(list(T), list(T)) -> bool
list_sets_equivalent_list: sets.equivalent(list(T), list(T)) -> bool
list_sets_intersects_list: sets.intersects(list(T), list(T)) -> bool
@mapInsert_map_key_value: cel.@mapInsert(map(K, V), K, V) -> map(K, V)
@mapInsert_map_map: cel.@mapInsert(map(K, V), map(K, V)) -> map(K, V)
`,
].join('\n')

const optionals = `
optional_of: optional.of(V) -> opt(V)
optional_ofNonZeroValue: optional.ofNonZeroValue(V) -> opt(V)
optional_none: optional.none() -> opt(V)
optional_value: opt(V)::value() -> V
optional_hasValue: opt(V)::hasValue() -> bool
optional_or_optional: opt(V)::or(opt(V)) -> opt(V)
optional_orValue_value: opt(V)::orValue(V) -> V
list_first: list(V)::first() -> opt(V)
list_last: list(V)::last() -> opt(V)
optional_unwrap: optional.unwrap(list(opt(V))) -> list(V)
optional_unwrapOpt: list(opt(V))::unwrapOpt() -> list(V)
`

const url = 'kubernetes.URL'
const urls = `
string_to_url: url(string) -> ${url}
url_get_scheme: ${url}::getScheme() -> string
url_get_host: ${url}::getHost() -> string
url_get_hostname: ${url}::getHostname() -> string
url_get_port: ${url}::getPort() -> string
url_get_escaped_path: ${url}::getEscapedPath() -> string
url_get_query: ${url}::getQuery() -> map(string, list(string))
is_url_string: isURL(string) -> bool
`

const addresses = `
string_to_ip: ip(string) -> net.IP
ip_family: net.IP::family() -> int
ip_is_canonical: ip.isCanonical(string) -> bool
ip_is_unspecified: net.IP::isUnspecified() -> bool
ip_is_loopback: net.IP::isLoopback() -> bool
ip_is_link_local_multicast: net.IP::isLinkLocalMulticast() -> bool
ip_is_link_local_unicast: net.IP::isLinkLocalUnicast() -> bool
ip_is_global_unicast: net.IP::isGlobalUnicast() -> bool
is_ip: isIP(string) -> bool
string_to_cidr: cidr(string) -> net.CIDR
cidr_contains_ip_string: net.CIDR::containsIP(string) -> bool
cidr_contains_ip_ip: net.CIDR::containsIP(net.IP) -> bool
cidr_contains_cidr_string: net.CIDR::containsCIDR(string) -> bool
cidr_contains_cidr: net.CIDR::containsCIDR(net.CIDR) -> bool
cidr_ip: net.CIDR::ip() -> net.IP
cidr_prefix_length: net.CIDR::prefixLength() -> int
cidr_masked: net.CIDR::masked() -> net.CIDR
is_cidr: isCIDR(string) -> bool
`

const q = 'kubernetes.Quantity'
const quantities = `
string_to_quantity: quantity(string) -> ${q}
is_quantity_string: isQuantity(string) -> bool
quantity_sign: sign(${q}) -> int
quantity_is_greater_than: ${q}::isGreaterThan(${q}) -> bool
quantity_is_less_than: ${q}::isLessThan(${q}) -> bool
quantity_compare_to: ${q}::compareTo(${q}) -> int
quantity_get_float: ${q}::asApproximateFloat() -> double
quantity_get_int: ${q}::asInteger() -> int
quantity_is_integer: ${q}::isInteger() -> bool
quantity_add: ${q}::add(${q}) -> ${q}
quantity_add_int: ${q}::add(int) -> ${q}
quantity_sub: ${q}::sub(${q}) -> ${q}
quantity_sub_int: ${q}::sub(int) -> ${q}
`

const v = 'kubernetes.Semver'
const versions = `
string_to_semver: semver(string) -> ${v}
string_bool_to_semver: semver(string, bool) -> ${v}
is_semver_string: isSemver(string) -> bool
is_semver_string_bool: isSemver(string, bool) -> bool
semver_is_greater_than: ${v}::isGreaterThan(${v}) -> bool
semver_is_less_than: ${v}::isLessThan(${v}) -> bool
semver_compare_to: ${v}::compareTo(${v}) -> int
semver_major: ${v}::major() -> int
semver_minor: ${v}::minor() -> int
semver_patch: ${v}::patch() -> int
`

const f = 'kubernetes.NamedFormat'
const formats = `
format-validate: ${f}::validate(string) -> opt(list(string))
format-named: format.named(string) -> opt(${f})
${each(
  'dns1123Label dns1123Subdomain dns1035Label qualifiedName dns1123LabelPrefix dns1123SubdomainPrefix dns1035LabelPrefix labelValue uri uuid byte date datetime',
  `format.$T: format.$T() -> ${f}`,
)}
`

const authorization = 'kubernetes.authorization'
const resourceCheck = `${authorization}.ResourceCheck`
const decision = `${authorization}.Decision`
const authorizer = `
authorizer_path: ${authorization}.Authorizer::path(string) -> ${authorization}.PathCheck
authorizer_group: ${authorization}.Authorizer::group(string) -> ${authorization}.GroupCheck
authorizer_serviceaccount: ${authorization}.Authorizer::serviceAccount(string, string) -> ${authorization}.Authorizer
groupcheck_resource: ${authorization}.GroupCheck::resource(string) -> ${resourceCheck}
resourcecheck_subresource: ${resourceCheck}::subresource(string) -> ${resourceCheck}
resourcecheck_namespace: ${resourceCheck}::namespace(string) -> ${resourceCheck}
resourcecheck_name: ${resourceCheck}::name(string) -> ${resourceCheck}
pathcheck_check: ${authorization}.PathCheck::check(string) -> ${decision}
resourcecheck_check: ${resourceCheck}::check(string) -> ${decision}
decision_errored: ${decision}::errored() -> bool
decision_error: ${decision}::error() -> string
decision_allowed: ${decision}::allowed() -> bool
decision_reason: ${decision}::reason() -> string
authorizer_fieldselector: ${resourceCheck}::fieldSelector(string) -> ${resourceCheck}
authorizer_labelselector: ${resourceCheck}::labelSelector(string) -> ${resourceCheck}
`

export const kubernetesSignatures: readonly string[] = [
  operators,
  comparison('_<_', 'less'),
  comparison('_<=_', 'less_equals'),
  comparison('_>_', 'greater'),
  comparison('_>=_', 'greater_equals'),
  sizes,
  conversions,
  times,
  strings,
  lists,
  optionals,
  urls,
  addresses,
  quantities,
  versions,
  formats,
  authorizer,
]

/** For mutating policies only. */
export const jsonPatchSignatures =
  'string_jsonpatch_escapeKey_string: jsonpatch.escapeKey(string) -> string'
