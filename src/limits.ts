/**
 * Every bound of the project, with its unit in its name and its reason beside it. Where kube-apiserver has a number, it is
 * kube-apiserver's.
 */
import assert from 'node:assert/strict'

export const limits = {
  // HTTP: connections, requests and answers.

  /** Request line and headers: their bytes (Go's DefaultMaxHeaderBytes), and how long they may take (upstream's ReadHeaderTimeout). */
  requestHeaderBytesMax: 1024 * 1024,
  requestHeadersTimeoutMs: 32_000,
  /** Largest request body; upstream's MaxRequestBodyBytes. */
  requestBodyBytesMax: 3 * 1024 * 1024,
  /** Parsed Accept and User-Agent headers that are kept: clients send a handful. */
  headerMeaningsKept: 256,
  /** Characters of a text by which something is kept, if clients choose it. */
  keptTextLengthMax: 4_096,
  /** Characters of what an answer is kept by for a time, such as a token with its audiences. */
  keptQuestionLengthMax: 16 * 1024,
  /** Types of an Accept header that are inserted one after the other, as by Go's sort up to this many. */
  insertedTypesMax: 12,
  /** Global deadline of a request that is not long-running; upstream's --request-timeout. */
  requestTimeoutMs: 60_000,
  /** Deadline of create, update, patch and delete of one object; upstream's requestTimeoutUpperBound. */
  writeTimeoutMs: 34_000,
  /** Shortest life of a watch without timeoutSeconds; drawn between this and twice this. Upstream's --min-request-timeout. */
  watchTimeoutMinMs: 1_800_000,
  /** Streams that a client may have open on one connection of HTTP/2; upstream's of kube-apiserver. */
  http2StreamsMax: 1_000,
  /** How often sessions of HTTP/2 are checked: one that was silent since the last check gets a ping, and must answer before the next. */
  sessionLookMs: 30_000,
  /** How long a client's connection may be silent before the system asks whether the client is still there; upstream's defaultKeepAlivePeriod. */
  serverKeepAliveMs: 180_000,
  /** How long a connection is still read after a refusal: net/http's rstAvoidanceDelay. */
  resetAvoidanceMs: 500,
  /** How long a connection without requests is kept; upstream's IdleTimeout. */
  keepAliveTimeoutMs: 90_000,
  /** A draining server waits this long for requests that it accepted. */
  drainTimeoutMs: 10_000,
  /** Answers larger than this are compressed for clients that accept gzip; upstream's defaultGzipThresholdBytes. */
  gzipBytesMin: 128 * 1024,
  /** How long one answer is worked on before others get their turn. */
  turnMsMax: 5,
  /** Larger answers do not wait for the end of their turn. Below the 16 KiB at which Node considers a socket full. */
  answerHeldBytesMax: 8 * 1024,
  /** A list is put together and sent in buffers of this size. */
  listSegmentBytes: 256 * 1024,
  /** Free buffers that are kept for the next lists. */
  listSegmentsKept: 32,
  /** Bytes waiting in the socket of a client that does not read; beyond it a watcher's cursor stands still. */
  clientSocketBytesMax: 256 * 1024,
  /** Characters of a text, a tag or a comment of a page whose links are rewritten: the time that it takes is the square of them. */
  pagePartLengthMax: 8 * 1024 * 1024,
  /** Bytes of a WebSocket message from a client of a watch or a log; its messages are ignored. */
  webSocketMessageBytesMax: 64 * 1024,
  /** Characters of all warnings of one answer, and of each beyond that; upstream's truncateAtTotalRunes and truncateItemRunes. */
  warningsRunesMax: 4_096,
  longWarningRunesMax: 256,

  // Priority and fairness.

  /** Non-mutating and mutating requests in flight; their sum are the seats that priority levels share. Upstream's --max-requests-inflight pair. */
  readRequestsInFlightMax: 400,
  mutatingRequestsInFlightMax: 200,
  /** Seats of a list and of a write; upstream's MaximumListSeatsLimit and MaximumMutatingSeatsLimit. */
  listSeatsMax: 100,
  writeSeatsMax: 10,
  /** Longest wait for a seat; upstream's. */
  seatWaitMaxMs: 60_000,
  /** How often seats are lent anew between priority levels; upstream's borrowingAdjustmentPeriod. */
  borrowingAdjustmentMs: 10_000,
  /** Writes of the condition of one flow schema in this time; upstream's shouldDelayUpdate. */
  conditionWritesMax: 6,
  conditionWritesPeriodMs: 60_000,
  /** Longest Retry-After of a refused request; upstream's maxRetryAfter. */
  retryAfterSecondsMax: 32,
  /** Flows of one schema whose queues are remembered. Flows are users or namespaces, which clients choose. */
  flowHandsMax: 1_000,

  // Reading bodies.

  /** Deepest YAML that is decoded: the composer takes over a kilobyte of stack for a level, and V8 may abort near the end of its stack. */
  yamlDepthMax: 250,
  /** Deepest JSON that is decoded. encoding/json allows 10,000, for which JSON.stringify has not enough stack. */
  jsonDepthMax: 1_000,
  /** Deepest object that a JSON patch may make: what is decoded, and the levels that managedFields need for its paths. */
  patchedDepthMax: 1_010,
  /** Reported unknown and duplicate fields of one body; sigs.k8s.io/json collects no more. */
  strictErrorsMax: 100,
  /** Characters of the paths of such fields that are looked at; the rest is not reported. */
  strictErrorPathsLengthMax: 4 * 1024 * 1024,
  /** YAML up to this size is parsed at once, which takes some 20 ms; larger YAML in a thread. */
  yamlAtOnceBytesMax: 8 * 1024,
  /** Heap of that thread: enough for the worst 3 MiB, a million empty lists. And how long the thread stays without work. */
  yamlThreadMegabytesMax: 1_536,
  yamlThreadIdleMs: 10_000,
  /** Characters of scalars that the aliases of one YAML body may stand for: upstream counts values, so that a short text may become gigabytes. */
  yamlAliasedCharactersMax: 3 * 1024 * 1024,
  /** Digits of a 64-bit number: converting a million digits takes seconds. */
  uint64DigitsMax: 20,
  /** Decimal exponent of a quantity: 10^exponent is computed, so an absurd one must not take all memory. */
  quantityExponentMax: 400,
  /** Characters of a quantity. Upstream calculates with any number of digits, which takes 16 s with 50,000. */
  quantityLengthMax: 1_000,
  /** Parsed quantities that are kept, and the characters of the longest. */
  quantitiesKept: 1_000,
  quantityLengthKeptMax: 24,

  // Objects and writes.

  /** Keys and values of all annotations of one object; upstream's TotalAnnotationSizeLimitB. */
  annotationsBytesMax: 256 * 1024,
  /** Values of one ConfigMap or Secret together; upstream's MaxSecretSize. */
  configDataBytesMax: 1024 * 1024,
  /** Selectable fields of one version of a definition; upstream's MaxSelectableFields. */
  selectableFieldsMax: 8,
  /** Reported errors of one object, and their characters. Upstream reports all, and runs out of memory where each part is told of with each other, or with the whole. */
  fieldErrorsMax: 10_000,
  fieldErrorsCharactersMax: 24 * 1024 * 1024,
  /** Brackets in brackets of a JSON path of a definition: reading each takes stack. */
  jsonPathNestingMax: 100,
  /** Values that a JSON path may find on its way: `[0,0]` doubles them each time. Upstream runs out of memory instead. */
  jsonPathValuesMax: 2_000_000,
  /** Lines of a part of an object, up to which lines that stay between others that change are looked for: it takes the square of them. */
  matchedLinesMax: 4_000,
  /** Reported surplus controllers of one object: each report lists all owners. */
  controllersToldMax: 10,
  /** Tries to find a free name for generateName; upstream's maxNameGenerationCreateAttempts. */
  generateNameAttemptsMax: 8,
  /** Characters of a generated name before the five that are random, whatever the kind allows; upstream's MaxGeneratedNameLength. */
  generatedNameBaseMax: 58,
  /** Random draws before the free addresses of a range are searched in order, and how many are looked at then. */
  randomAddressTriesMax: 8,
  searchedAddressesMax: 65_536n,
  /** How long an Event is kept; upstream's --event-ttl. */
  eventTtlSeconds: 3_600,
  /** Operations in one JSON patch; upstream's maxJSONPatchOperations. */
  jsonPatchOperationsMax: 10_000,
  /** Bytes that all copies of one JSON patch may add; upstream's JSONPatchMaxCopyBytes. */
  jsonPatchCopyBytesMax: 3 * 1024 * 1024,
  /** Entries of lists and maps that one strategic merge patch goes through: the largest object has a quarter of them, and a patch may name one again and again. */
  mergedPartsMax: 1_000_000,
  /** Characters of a field manager's name, also of one made of a User-Agent; upstream's FieldManagerMaxLength. */
  fieldManagerLengthMax: 128,
  /** Entries of operation Update in managedFields; upstream's DefaultMaxUpdateManagers. */
  updateManagersMax: 10,
  /** Field names whose path elements are kept; all built-in types together have some 2,000. */
  fieldElementsKept: 10_000,
  /** Children of a field set that objects may share, and nodes of the tree in which such sets are found (2 MB). */
  sharedSetLengthMax: 128,
  sharedSetStepsMax: 20_000,
  /** Characters of an element that is shared: a key of an annotation has 317 at most. */
  sharedElementLengthMax: 512,
  /** A write that etcd takes (DefaultMaxRequestBytes), and one that its client sends (defaultMaxCallSendMsgSize). */
  etcdRequestBytesMax: 1.5 * 1024 * 1024,
  etcdSentBytesMax: 2 * 1024 * 1024,
  /** From this many bytes of JSON on, the bytes that etcd would be sent are counted: protobuf is not known to double them. */
  etcdCountedFromBytes: 768 * 1024,
  /** Tries of one eviction, and Pods of one budget that are being evicted; upstream's EvictionsRetry and MaxDisruptedPodSize. */
  evictionAttemptsMax: 20,
  disruptedPodsMax: 2_000,
  /** Objects of a collection delete whose list is answered as if it had one page; upstream's deleteCollectionPageSize. */
  deleteCollectionPageLength: 10_000,
  /** Removals of a collection delete that wait for the disk at once: enough to share a commit, few enough to stop soon. */
  deleteCollectionWritesMax: 256,

  // Admission, policies and CEL.

  /** How often a missing default ServiceAccount is looked for while its controller makes it; upstream's ten tries of 100 to 200 ms. */
  defaultAccountTriesMax: 10,
  defaultAccountRetryMs: 150,
  /** Kept answers about images, and the default number of buckets of a limit for Events; upstream's. */
  imageReviewsKept: 1_024,
  eventLimitBucketsDefault: 4_096,
  /** Tries of one write whose quota others change at the same time. */
  quotaTriesMax: 10,
  /** Existing Pods that an update of a namespace looks at; upstream's defaultNamespaceMaxPodsToCheck. */
  podSecurityChecksMax: 3_000,
  /** Depth to which the parts of one CEL expression may nest, and its characters; cel-go's defaults. */
  celNestingMax: 250,
  celExpressionCodePointsMax: 100_000,
  /** Nodes of the tree of one CEL expression after its macros: `optMap` doubles what it is called on. */
  celTreeNodesMax: 200_000,
  /** Characters of a text that one CEL function makes. */
  celTextCharactersMax: 10_000_000,
  /** Types that the check of one CEL expression looks at: each map may be twice as large a type as the one before. */
  celTypesLookedMax: 2_000_000,
  /** Values that one evaluation looks at or makes, whatever that costs: a second or two. An object of the largest size has half a million. */
  celWorkMax: 4_000_000,
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
  /** Parts of the type of a policy's variable, as a list of lists of int has three: a variable may name one twice, and so on. Upstream keeps all. */
  celVariableTypePartsMax: 64,
  /** Kinds that the expressions of one policy rule are type-checked against, duplicates included; upstream's maxTypesToCheck. */
  celKindsCheckedMax: 10,
  /** Bytes of a message that an expression makes; upstream's MaxEvaluatedMessageExpressionSizeBytes. */
  celMessageBytesMax: 5 * 1024,
  /** Cost of the selector of a device on one device; upstream's CELSelectorExpressionMaxCost. */
  celDeviceCostMax: 1_000_000n,
  /** Reported problems of one expression, and characters of the source line shown with them; cel-go's. */
  celProblemsShownMax: 100,
  celSnippetCharactersMax: 16_384,
  /** Patterns that are kept compiled: each is of a definition or a policy, and used for every object. */
  patternsKept: 1_000,
  /** Characters of a pattern that is kept: compiled, each takes 80 bytes. */
  patternCharactersKeptMax: 2_000,

  // Webhooks, aggregated APIs and other servers.

  /** How long one address of a name is tried before the next: longer than a process is busy with other things. */
  addressTryMs: 1_000,
  /** How long a connection to a Pod, a node or an aggregated API and its TLS handshake may take, and how long it may be silent before the system asks whether the other side is still there; net/http's. */
  connectTimeoutMs: 30_000,
  tlsHandshakeTimeoutMs: 10_000,
  clientKeepAliveMs: 30_000,
  /** Webhooks that a kubeconfig names: tries of one call, first pause between them, timeout of a try; upstream's. */
  webhookTriesMax: 5,
  webhookBackoffMs: 500,
  webhookTimeoutMs: 30_000,
  /** Connections to one webhook that are kept while it is not asked; upstream's idleConnsPerHost. */
  webhookIdleConnectionsMax: 25,
  /** Sets of labels that each metric of admission webhooks is kept for: whoever configures webhooks names them. */
  webhookSeriesMax: 2_000,
  /** Bytes of a webhook's refusal that are shown; upstream's maxUnstructuredResponseTextBytes. */
  webhookAnswerShownBytesMax: 2_048,
  /** Bytes of a kubelet's refusal that are read; upstream's maxReadLength. */
  refusalBytesMax: 50_000,
  /** How long a conversion webhook may take; the default of upstream's client. */
  conversionTimeoutSeconds: 30,
  /** How often a watch retries a conversion webhook that failed. */
  conversionRetryMs: 1_000,
  /** Concurrent requests to a conversion webhook. */
  conversionsAtOnceMax: 16,
  /** Resources that are described together for OpenAPI, between which other requests go on. */
  openApiPartsAtOnceMax: 16,
  /** How long an aggregated API may take for a discovery document, and for the check that it is there; upstream's 5 s. */
  aggregatedDiscoveryTimeoutMs: 5_000,
  /** How often the discovery of an aggregated API is read again, and its OpenAPI v2 document at most; upstream's discoveryRefreshInterval. */
  aggregatedDiscoveryIntervalMs: 60_000,
  /** Bytes of a discovery document, an OpenAPI index or an OpenAPI v2 document of an aggregated API. */
  aggregatedDocumentBytesMax: 16 * 1024 * 1024,
  /** How often that check is made when nothing changes, and the longest wait after it failed. */
  apiServiceCheckIntervalMs: 30_000,
  /** Checks at once of one APIService: endpoints are drawn by chance, and one that answers is enough. */
  apiServiceChecksAtOnce: 5,
  /** Health checks of components (ComponentStatus): their timeout and the bytes read of an answer; upstream's probeTimeOut and maxRespBodyLength. */
  componentProbeTimeoutMs: 20_000,
  componentProbeTextMax: 10 * 1024,
  /** How often files that a kubeconfig names are read again: tokens by client-go every minute, certificates within five. */
  credentialsRereadMs: 60_000,
  /** The same for those by which the server asks kubelets and aggregated APIs, while it asks any. */
  clientPairRereadMs: 1_000,
  /** How often a configuration file is read again without a notification; upstream's. */
  configurationRereadMs: 60_000,

  // Authentication, authorization and the audit log.

  /** Seconds that a token of a ServiceAccount may be asked for; upstream's MinTokenAgeSec and its 2^32. */
  tokenSecondsMin: 600,
  tokenSecondsMax: 2 ** 32,
  /** Lifetime that a kubelet requests for a Pod's token, and the lifetime that it gets; upstream's WarnOnlyBoundTokenExpirationSeconds and ExpirationExtensionSeconds. */
  podTokenSeconds: 3_607,
  extendedTokenSeconds: 365 * 24 * 3_600,
  /** How far the clocks of machines that make and read tokens may be apart; go-jose's DefaultLeeway. */
  tokenLeewaySeconds: 60,
  /** How long a token that was found good stays so; upstream's TokenSuccessCacheTTL. */
  goodTokenKeptMs: 10_000,
  /** Signatures that are checked to find the authority of a client's certificate (crypto/x509, maxChainSignatureChecks). */
  signatureChecksMax: 100,
  /** Client certificates of whose last connection it is remembered which others led from them to their authority. */
  clientChainsKept: 256,
  /** Tokens that are remembered as found good, or by a webhook as nobody's. */
  verifiedTokensKept: 10_000,
  /** How long a webhook's answer about a token is kept; upstream's default. */
  tokenWebhookCacheMs: 120_000,
  /** Issuers of JWTs that a configuration may name; upstream's. */
  jwtIssuersMax: 64,
  /** How long before its `nbf` a token is accepted; go-oidc's. */
  jwtEarlySeconds: 60,
  /** Requests to such an issuer: their timeout, the pause before an unreachable one is tried again (both upstream's), the shortest pause between two reads of its keys, and requests for one document that is elsewhere (net/http's). */
  issuerTimeoutMs: 30_000,
  issuerRetryMs: 10_000,
  issuerKeysPauseMs: 1_000,
  redirectsMax: 10,
  /** Users whose last mode of impersonation is remembered. */
  impersonationModesKept: 10_000,
  /** Users in a namespace whose RBAC grants are kept while no role and no binding changes. */
  rbacGrantsKept: 4_096,
  /** Rules of one verb on one resource into which those of a role are broken down, to see whether its writer holds them. */
  brokenDownRulesMax: 20_000,
  /** Kept answers of an authorization webhook, and the characters that clients may choose in a kept one; upstream's. */
  authorizationsKept: 8_192,
  authorizationKeptLengthMax: 10_000,
  /** How long answers of an authorization webhook are kept; upstream's defaults. */
  authorizedKeptMs: 300_000,
  unauthorizedKeptMs: 30_000,
  /** Match conditions of one authorization webhook; upstream's. */
  authorizationConditionsMax: 64,
  /** Bytes of one policy of attribute-based access control; Go's MaxScanTokenSize. */
  policyLineBytesMax: 64 * 1024,
  /** Bytes of one audit annotation of a policy; upstream's maxAuditAnnotationValueLength. */
  auditAnnotationBytesMax: 10 * 1024,
  /** Characters of a user agent that the audit log shows; upstream's. */
  auditUserAgentLengthMax: 1024,

  // The watch cache.

  /** How often a watcher that asked for bookmarks gets one. */
  bookmarkIntervalMs: 60_000,
  /** Watch history held in memory and on disk: at least this long, at most this many bytes. */
  watchHistoryMs: 300_000,
  watchHistoryBytesMax: 32 * 1024 * 1024,
  /** Events of one batch that a driver yields to a watcher that catches up; whole revisions may make it larger. */
  watchBatchLengthMax: 4_096,
  /** Bytes of objects in one batch of a watch, so that a watcher that catches up does not block others. */
  watchBatchBytesMax: 256 * 1024,
  /** JSON bytes of objects that are kept decoded, and bytes of other kept forms of objects (protobuf, other versions). */
  decodedObjectsBytesMax: 12 * 1024 * 1024,
  madeFormsBytesMax: 16 * 1024 * 1024,
  /** Lists by one label or field that were asked for twice are kept in one piece until something in them is written: bytes of all, and of each. */
  joinedListsBytesMax: 12 * 1024 * 1024,
  joinedListBytesMax: 1024 * 1024,
  /** Shortest time that such lists are kept. */
  joinedListsKeptMs: 10_000,
  /** Frames of watches that are kept for other watchers of the same events. */
  madeFramesBytesMax: 8 * 1024 * 1024,
  /** Bytes at the start of a stored object in which its labels are searched; longer metadata is decoded. */
  beginningBytesMax: 2_048,
  /** Entries of one chunk of a sorted map before it is cut in two: small enough to move, large enough to scan. */
  chunkLengthMax: 512,
  /** Label keys of one resource that are indexed; they are chosen by clients, the rest is scanned. */
  labelIndexesMax: 32,
  /** Wait for a resourceVersion from the future before "Too large resource version"; upstream waits 3 s. */
  futureRevisionWaitMs: 3_000,
  /** Wait of a consistent read for the cache to reach what a shared store has, before the store itself is read; upstream's blockTimeout. */
  consistentReadWaitMs: 3_000,
  /** Retry-After of a list of objects that cannot be decrypted; upstream's. */
  cacheRetrySecondsMax: 30,
  /** Pause before the server retries its own watches, and the writes of its start. */
  retryMs: 1_000,

  // Storage.

  /** Transactions that one LevelDB batch may merge (group commit), and their bytes. */
  groupCommitTransactionsMax: 256,
  groupCommitBytesMax: 4 * 1024 * 1024,
  /**
   * A batch with at least `From` and fewer than `Gathered` transactions waits up to `Turns` turns of the event loop for more,
   * until the clients that the batch before has answered write again. An idle turn costs some microseconds.
   */
  groupCommitWaitsFrom: 4,
  groupCommitGathered: 16,
  groupCommitTurns: 4,
  /** LevelDB's write buffer, larger than its 4 MB: fewer and larger tables, and no stall while one is written out. */
  writeBufferBytes: 16 * 1024 * 1024,
  /** Removals of a compaction that one batch takes along. */
  removalsInBatchMax: 1_000,
  /** Keys in one read of a driver (a whole store in one answer would be in memory twice), and bytes that LevelDB reads ahead at a start. */
  rangeLength: 1_000,
  replayBytes: 4 * 1024 * 1024,
  /** Values on one lease of etcd; upstream's defaultLeaseMaxObjectCount. */
  leaseUsesMax: 1_000,
  /** How much longer than its lifetime a value on a shared lease may stay; upstream's --lease-reuse-duration-seconds. */
  leaseReuseSecondsMax: 60,
  /** How long a start waits for an etcd that is not there; upstream's dialTimeout. */
  etcdDialTimeoutMs: 20_000,
  /** Answers of an etcd watch that wait for their reader before no more are read; upstream's incomingBufSize. */
  etcdBatchesWaitingMax: 100,
  /** How long a health check waits for storage; upstream's --etcd-healthcheck-timeout and --etcd-readycheck-timeout. */
  healthCheckTimeoutMs: 2_000,
  /** Named snapshots, and bytes of one. A store in memory shares most of them. */
  snapshotsMax: 32,
  snapshotBytesMax: 256 * 1024 * 1024,
  /** Keys that a restore writes at once: as many as one commit takes. */
  restoreWritesMax: 256,
  /** Tries to restore one key that others write to. */
  restoreTriesMax: 100,
  /** Bytes and keys of one write of a restore; less than etcd's DefaultMaxRequestBytes and DefaultMaxTxnOps. */
  restoredBytesMax: 1024 * 1024,
  restoredKeysMax: 100,
  /** Keys of a KMS plugin that metrics tell apart; upstream's. */
  kmsKeysMeasuredMax: 100,
  /** Decrypted seeds of a KMS plugin that are kept, each some 300 bytes. There is one for each key and each start of a server since the objects were written. */
  kmsSeedsMax: 10_000,
  /** Sizes of a KMS plugin's answer: the id of its key, the encrypted key, annotations; upstream's. */
  kmsKeyIdBytesMax: 1024,
  kmsEncryptedKeyBytesMax: 1024,
  kmsAnnotationsBytesMax: 32 * 1024,
  /** How long a seed is still used for writes while its plugin is unhealthy; upstream's kmsv2PluginWriteDEKSourceMaxTTL. */
  kmsSeedLifetimeMs: 180_000,
  /** How long, at least, the plugins of a changed encryption configuration have time to become healthy; upstream's minKMSPluginCloseGracePeriod. */
  kmsReadyMs: 10_000,

  // What a server does by itself.

  /** How long a start retries to make the objects that every cluster has; upstream's, of its bootstrap hooks. */
  bootstrapMs: 30_000,
  /** How often those of them that a running server keeps are looked at; upstream's, of the default ServiceCIDR. */
  bootstrapCheckMs: 10_000,
  /** How long the Lease of a server lasts, upstream's hour; it is renewed three times in it, not every 10 s: an idle disk may sleep. */
  identityLeaseSeconds: 3600,
  identityLeaseRenewMs: 20 * 60 * 1000,
  /** How often a server says that it is alive to the servers that share its store, and how long they believe it; upstream's. */
  peerRenewMs: 10_000,
  masterLeaseSeconds: 15,
  /** How long a server that ends tries to withdraw; upstream's, two rounds of its reconciler. */
  leaveMs: 20_000,
  /** How often allocations of Services are repaired that a killed server or a failed release left; upstream's. */
  allocationRepairMs: 3 * 60 * 1000,
  /** How long to wait for the objects of a deleted definition before they are deleted again; upstream's minute. */
  definitionCleanupMsMax: 60_000,
  /** How far tests may move the clock on: to where certificates and keys of the server still hold. */
  clockAheadMsMax: 10 * 365 * 24 * 3_600_000,
  /** Pause before a process asks again how far the clock of its server is ahead. */
  clockRetryMs: 1_000,
  /** Fault rules, and the longest delay of a request by one: the longest time that any request may take. */
  faultRulesMax: 100,
  faultDelayMsMax: 60_000,
  /** Longest delay of Node's timers; longer waits wake up in between. */
  timerMsMax: 2 ** 31 - 1,

  // Clients: controllers, scheduler, metrics server.

  /** How long a proxy may take until a connection through it stands (net/http's), and the bytes that a program for credentials may print. */
  proxyAnswerMs: 60_000,
  credentialProgramOutputBytesMax: 1024 * 1024,
  /** Objects in one page of a client that reads everything; client-go's DefaultPageSize. */
  pageLength: 500,
  /** Requests of one process in flight, watches aside: more would only open connections, whose handshakes cost more than the wait. */
  clientConnectionsMax: 16,
  /** Deleted objects that an informer remembers, so that the late answer to a write does not bring one back. */
  goneObjectsKept: 1_000,
  /** client-go's of events: known ones, waiting ones, tries of one, burst of one object and type, refill of one more, characters of a message. */
  eventsKept: 4_096,
  eventsWaitingMax: 1_000,
  eventTriesMax: 12,
  eventBurstMax: 25,
  eventRefillMs: 300_000,
  eventMessageLengthMax: 1_024,
  /** Without another a series of Events is over after this time, and one that lasts is written so often; client-go's finishTime and refreshTime. */
  eventSeriesEndMs: 360_000,
  eventSeriesRefreshMs: 1_800_000,
  /** After this many messages of one reason within the time, the next ones become one event; client-go's. */
  similarEventsMax: 10,
  similarEventsMs: 600_000,
  /** Requests for Pods of one owner at once. */
  podRequestsMax: 32,
  /** Pods that one round makes or ends; upstream's BurstReplicas of ReplicaSets and of DaemonSets. Parallel StatefulSets are held to it, too. */
  replicaBurstMax: 500,
  daemonBurstMax: 250,
  /** Pods that one round of a Job makes or ends; upstream's MaxPodCreateDeletePerSync. */
  jobPodsAtOnceMax: 500,
  /** Finished Pods that the status of a Job lists at once; upstream's MaxUncountedPods. */
  uncountedPodsMax: 500,
  /** Characters of the revisions that a ReplicaSet tells it had before; upstream's maxRevHistoryLengthInChars. */
  revisionHistoryChars: 2_000,
  /** Addresses of one Endpoints object, and of a subset that is mirrored; upstream's maxCapacity and --mirroring-max-endpoints-per-subset. */
  endpointAddressesMax: 1_000,
  /** Missed starts of a CronJob that are caught up; with more, a clock is wrong or the schedule too dense. */
  missedStartsMax: 100,
  /** Owners that are remembered as absent; upstream's size of the uidsCache. */
  absentOwnersKept: 500,
  /** Characters of the name of a claim by template before its suffix, which makes them 63; upstream's maxBaseLen. */
  claimNameLengthMax: 57,
  /** A cluster's range of Pod addresses has at most 2 to this many parts; upstream's clusterSubnetMaxDiff. */
  rangeCutBitsMax: 16,
  /** Characters of the name of a Deployment's set; upstream's DNS1123SubdomainMaxLength. */
  setNameLengthMax: 253,
  /** Compiled selectors of devices that the scheduler keeps; claims and classes share a handful. */
  deviceSelectorsKept: 512,
  /** Devices of one claim; upstream's AllocationResultsMaxSize. */
  claimDevicesMax: 32,
  /** Choices of devices that are tried for the claims of a Pod on one node. Upstream gives up after 10 s. */
  deviceChoicesMax: 1_000_000,
  /** Alternatives of one request; upstream's FirstAvailableDeviceRequestMaxSize. */
  deviceAlternativesMax: 8,
  /** Pods that may use a claim at once; upstream's ResourceClaimReservedForMaxSize. */
  claimConsumersMax: 256,
  /** Tries to write a claim that others write too; upstream's retry.DefaultRetry. */
  claimWriteTriesMax: 5,
  /** How long an extender of the scheduler may take by default (upstream's DefaultExtenderTimeout), and how much it may say: 5,000 whole nodes. */
  extenderTimeoutMs: 5_000,
  extenderAnswerBytesMax: 64 * 1024 * 1024,
  /** The best score that an extender gives; upstream's MaxExtenderPriority. */
  extenderScoreMax: 10,
  /** Bindings of the scheduler at once. */
  bindingsMax: 32,
  /** Kubelets that the metrics server asks at once, how long one may take, and how much it may say: of 10,000 containers. */
  kubeletReadsMax: 16,
  kubeletReadTimeoutMs: 10_000,
  kubeletReadingBytesMax: 8 * 1024 * 1024,

  // The kubelet.

  /** Pods that a node takes; upstream's 110 is for machines whose Pods are containers. */
  podsPerNodeMax: 1_100,
  /** Volumes of a CSI driver that a node takes: what the field holds (math.MaxInt32). */
  csiVolumesPerNodeMax: 2 ** 31 - 1,
  /** Images in a Node's status, and names of each; upstream's nodeStatusMaxImages and MaxNamesPerImageInNodeStatus. */
  nodeImagesMax: 50,
  nodeImageNamesMax: 5,
  /** Images whose last pull has failed, for their back-off. */
  imageFailuresKept: 2_000,
  /** Secrets that are noted for an image without a pull; upstream's writeRecordWhileMatchingLimit. */
  imagePullSecretsNotedMax: 100,
  /** Kept answers of token and access reviews of a component that serves a port, and how long they are kept; upstream's defaults of webhook authentication and authorization. */
  componentReviewsKept: 1_024,
  tokenReviewMs: 120_000,
  allowedReviewMs: 300_000,
  deniedReviewMs: 30_000,
  /** How long after its end a Lease that was not renewed makes its holder unhealthy; kube-scheduler's and kube-controller-manager's. */
  expiredLeaseMs: 20_000,
  /** Longest file of variables that a container may leave to another: no process could start with more. */
  envFileBytesMax: 2 * 1024 * 1024,
  /** Characters of all variables of a container, and of the words of its command: Linux starts nothing with more (three quarters of _STK_LIM). */
  argumentsLengthMax: 6 * 1024 * 1024,
  /** Longest manifest of a static Pod; upstream's maxConfigLength. */
  manifestBytesMax: 10 * 1024 * 1024,
  /** How often the kubelet checks for evictions, and how long it waits for an evicted Pod before it checks again; upstream's evictionMonitoringPeriod and podCleanupTimeout. */
  evictionPeriodMs: 10_000,
  evictionWaitMsMax: 30_000,
  /** Statuses of Pods that are written at once. */
  statusWritesMax: 16,
  /** Tries of a probe that fails to run; upstream's maxProbeRetries. */
  probeAttemptsMax: 3,
  /** Requests of one probe or hook, redirects included; as Go's client. */
  handlerRequestsMax: 10,
  /** Bytes kept of the output of a probe or a hook; upstream's maxRespBodyLength. */
  handlerOutputBytesMax: 10 * 1024,
  /** Characters of an image's name without registry, tag and digest; distribution's RepositoryNameTotalLengthMax. */
  imageNameLengthMax: 255,
  /** Characters of a Pod's hostname, and of one that the kernel accepts. */
  hostnameLengthMax: 63,
  kernelNameLengthMax: 64,
  /** Longest grace that a container runtime is told: of 300 years containerd makes none, and gRPC has no such deadlines. */
  stopSecondsMax: 2 ** 31 - 1,
  /** Bytes of one answer of a container runtime, which may list the annotations of many Pods; upstream's maxMsgSize. */
  runtimeAnswerBytesMax: 16 * 1024 * 1024,
  /** Entries and characters of a Pod's resolv.conf that resolvers read; upstream's MaxDNSNameservers, MaxDNSSearchPaths, DNS1123SubdomainMaxLength and MaxDNSSearchListChars. */
  dnsServersMax: 3,
  dnsSearchesMax: 32,
  dnsNameLengthMax: 253,
  dnsSearchLineLengthMax: 2_048,
  /** Bytes of a termination message, and of one taken from the log; upstream's MaxContainerTerminationMessageLength and …LogLength. */
  terminationMessageBytesMax: 4_096,
  terminationLogBytesMax: 2_048,
  /** Bytes of all termination messages of a Pod, which its containers share; upstream's MaxPodTerminationMessageLogLength. */
  podTerminationMessageBytesMax: 12 * 1024,
  /** Length of a path from which on folders of containers are reached by one that is open: half of what the system takes. */
  walkedPathLengthMax: 2_048,
  /** Bytes of a container's log before it is rotated; one old file is kept. Upstream's containerLogMaxSize. */
  containerLogBytesMax: 10 * 1024 * 1024,
  /** Of a line without an end so much waits for it, where times are shown; runtimes cut lines there. */
  logLineBytesKept: 16 * 1024,
  /** Bytes of a command's output that a kubelet holds for a slow client before the command has to wait. */
  commandOutputBytesMax: 1024 * 1024,
  /** Bytes of a client's input that a kubelet holds for a slow command or port before the client has to wait. */
  commandInputBytesMax: 1024 * 1024,
  /** Longest SPDY frame that is accepted, and what the headers of a stream may inflate to. */
  spdyFrameBytesMax: 1024 * 1024,
  spdyHeaderBytesMax: 64 * 1024,
  /** A client opens the streams that belong together within this time; upstream's DefaultStreamCreationTimeout. */
  spdyStreamsWaitMsMax: 30_000,
  /** Longest time from the start of a shim to its first line, however busy the machine. */
  shimClaimMsMax: 3_600_000,
  /** script(1) has made its terminal long before, however busy the machine; a size that cannot be set by then is let go. */
  terminalStartMsMax: 20_000,
  /** Searches for processes that a container left behind. They may fork meanwhile, and what was killed needs a processor to end: for ten seconds, which only a process that the kernel cannot end outlasts. */
  sweepsMax: 55,
  /** Grace of Pods when their kubelet ends; `kubelevel up` waits ten seconds for its children. */
  shutdownGraceSecondsMax: 6,
  /** How long a node that shuts down waits for the processes killed last, and for their statuses and Events. */
  lastWordsMsMax: 5_000,

  // The dashboard.

  /** Steps of a Pod that the dashboard keeps, its lanes, states of each of them, Pods that are gone, pages that follow them. */
  dashboardStepsMax: 500,
  dashboardLanesMax: 100,
  dashboardSpansMax: 200,
  dashboardGonePodsMax: 100,
  dashboardPagesMax: 32,
} as const

assert(limits.writeTimeoutMs < limits.requestTimeoutMs)
assert(limits.requestBodyBytesMax < limits.groupCommitBytesMax)
assert(limits.etcdCountedFromBytes <= limits.etcdRequestBytesMax / 2)
