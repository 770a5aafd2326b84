/**
 * Every bound of the project: its unit is in its name, its reason beside it.
 * Where kube-apiserver has a number, it is kube-apiserver's.
 */
import assert from 'node:assert/strict'

export const limits = {
  /** Looks for a default ServiceAccount that its controller is about to make; upstream's ten tries of 100 to 200 ms. */
  defaultAccountTriesMax: 10,
  defaultAccountRetryMs: 150,
  /** Rest before the server's own watch of its objects starts again after a failure. */
  retryMs: 1_000,
  /** Objects that a conversion webhook is asked for at once. */
  conversionsAtOnceMax: 16,
  /** Largest request body; upstream's MaxRequestBodyBytes. */
  requestBodyBytesMax: 3 * 1024 * 1024,
  /** Expressions inside of each other in one CEL expression, and its characters; cel-go's defaults. */
  celNestingMax: 250,
  celExpressionCodePointsMax: 100_000,
  /** Nodes of the tree of one CEL expression after its macros: `optMap` doubles what it is called on. */
  celTreeNodesMax: 200_000,
  /** Characters of a text that one CEL function makes: what reading it as often as it may cost allows. */
  celTextCharactersMax: 10_000_000,
  /** Cost of one evaluation of one CEL expression; upstream's PerCallLimit. */
  celCallCostMax: 1_000_000,
  /** Cost of all CEL rules on one object, or of all expressions of one policy binding; upstream's RuntimeCELCostBudget. */
  celObjectCostMax: 10_000_000,
  /** Cost of the match conditions of one webhook or binding; upstream's RuntimeCELCostBudgetMatchConditions. */
  celMatchConditionsCostMax: 2_500_000,
  /** Estimated cost of one rule of a definition, and of all of them; upstream's StaticEstimatedCostLimit and StaticEstimatedCRDCostLimit. */
  celRuleEstimateMax: 10_000_000n,
  celDefinitionEstimateMax: 100_000_000n,
  /** Policies, or conditions of webhooks, whose expressions are kept compiled. */
  celPoliciesKept: 1_000,
  /** Bytes of a message that an expression makes; upstream's MaxEvaluatedMessageExpressionSizeBytes. */
  celMessageBytesMax: 5 * 1024,
  /** Values of one ConfigMap or Secret together; upstream's MaxSecretSize. */
  configDataBytesMax: 1024 * 1024,
  /** Operations in one JSON patch; upstream's maxJSONPatchOperations. */
  jsonPatchOperationsMax: 10_000,
  /** Bytes that all copies of one JSON patch may add; upstream's JSONPatchMaxCopyBytes. */
  jsonPatchCopyBytesMax: 3 * 1024 * 1024,
  /** Entries of operation Update in managedFields; upstream's DefaultMaxUpdateManagers. */
  updateManagersMax: 10,
  /** Different Accept and User-Agent headers whose meaning is kept: clients send a handful. */
  headerMeaningsKept: 256,
  /** Users in a namespace whose RBAC grants are kept while no role and no binding changes. */
  rbacGrantsKept: 4_096,
  /** Field names whose path elements are kept; all built-in types together have some 2,000. */
  fieldElementsKept: 10_000,
  /** Children of a set of fields that is shared among objects, and steps of the tree in which such sets are found (2 MB). */
  sharedSetLengthMax: 128,
  sharedSetStepsMax: 20_000,
  /** Deepest JSON or YAML that is decoded. encoding/json stops at 10,000, where JSON.stringify has run out of stack. */
  jsonDepthMax: 1_000,
  /** Aliases that one YAML body may resolve. */
  yamlAliasesMax: 100,
  /** Keys and values of all annotations of one object; upstream's TotalAnnotationSizeLimitB. */
  annotationsBytesMax: 256 * 1024,
  /** Tries to find a free name for generateName; upstream's maxNameGenerationCreateAttempts. */
  generateNameAttemptsMax: 8,
  /** Global deadline of a request that is not long-running; upstream's --request-timeout. */
  requestTimeoutMs: 60_000,
  /** Deadline inside which create, update, patch and named delete end; upstream's requestTimeoutUpperBound. */
  writeTimeoutMs: 34_000,
  /** Shortest life of a watch without timeoutSeconds; drawn between this and twice this. Upstream's --min-request-timeout. */
  watchTimeoutMinMs: 1_800_000,
  /** How often a watcher that asked for bookmarks gets one. */
  bookmarkIntervalMs: 60_000,
  /** Watch history held in memory and on disk: at least this long, at most this many bytes. */
  watchHistoryMs: 300_000,
  watchHistoryBytesMax: 64 * 1024 * 1024,
  /** JSON bytes whose decoded objects, and whose JSON with resourceVersion, are kept at hand; others are made again. */
  decodedObjectsBytesMax: 12 * 1024 * 1024,
  objectTextsBytesMax: 48 * 1024 * 1024,
  /** Label keys of one resource that are indexed; they are chosen by clients, the rest is scanned. */
  labelIndexesMax: 32,
  /** Bytes of objects in one batch of a watch, so that a watcher that catches up does not hold the process. */
  watchBatchBytesMax: 256 * 1024,
  /** Bytes waiting in the socket of a client that does not read; beyond it a watcher's cursor stands still. */
  clientSocketBytesMax: 256 * 1024,
  /** Wait for a resourceVersion from the future before "Too large resource version"; upstream waits 3 s. */
  futureRevisionWaitMs: 3_000,
  /** Answers larger than this are compressed for who accepts gzip; upstream's defaultGzipThresholdBytes. */
  gzipBytesMin: 128 * 1024,
  /** How long one answer is worked on before others have their turn. */
  turnMsMax: 5,
  /** Larger answers do not wait for the end of their turn: below the 16 KiB at which Node takes a socket for full. */
  answerHeldBytesMax: 8 * 1024,
  /** A list is put together and sent in buffers of this size. */
  listSegmentBytes: 256 * 1024,
  /** Such buffers that are kept for the next lists when none is under way. */
  listSegmentsKept: 32,
  /** Wait of a consistent read for the cache to reach what a shared store has, before the store itself is read; upstream's blockTimeout. */
  consistentReadWaitMs: 3_000,
  /** How long a start waits for an etcd that is not there; upstream's dialTimeout. */
  etcdDialTimeoutMs: 20_000,
  /** How long a health check waits for storage; upstream's --etcd-healthcheck-timeout and --etcd-readycheck-timeout. */
  healthCheckTimeoutMs: 2_000,
  /** Objects in one page that a collection delete reads. */
  deleteCollectionPageLength: 10_000,
  /** Removals of a collection delete that wait for the disk at once: enough to share a commit, few enough to stop soon. */
  deleteCollectionWritesMax: 256,
  /** Live non-mutating and mutating requests; upstream's --max-requests-inflight pair. */
  readRequestsInFlightMax: 400,
  mutatingRequestsInFlightMax: 200,
  /** How long an aggregated API may take for a discovery document, and for the check that it is there; upstream's 5 s. */
  aggregatedDiscoveryTimeoutMs: 5_000,
  /** How often that check is made when nothing changes, and the longest wait after it failed. */
  apiServiceCheckIntervalMs: 30_000,
  /** How often the discovery of an aggregated API is read again; upstream's discoveryRefreshInterval. */
  aggregatedDiscoveryIntervalMs: 60_000,
  /** Checks at once of one APIService: endpoints are drawn by chance, and one that answers is enough. */
  apiServiceChecksAtOnce: 5,
  /** Bytes of a discovery document or an OpenAPI index of an aggregated API. */
  aggregatedDocumentBytesMax: 16 * 1024 * 1024,
  /** Request line and headers; Go's DefaultMaxHeaderBytes. */
  requestHeaderBytesMax: 1024 * 1024,
  requestHeadersTimeoutMs: 32_000,
  keepAliveTimeoutMs: 90_000,
  /** A draining server waits this long for requests that it accepted. */
  drainTimeoutMs: 10_000,
  /** Transactions that one LevelDB batch may merge (group commit), and their bytes. */
  groupCommitTransactionsMax: 256,
  groupCommitBytesMax: 4 * 1024 * 1024,
} as const

assert(limits.writeTimeoutMs < limits.requestTimeoutMs)
assert(limits.requestBodyBytesMax < limits.groupCommitBytesMax)
