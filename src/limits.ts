/**
 * Every bound of the project: its unit is in its name, its reason beside it.
 * Where kube-apiserver has a number, it is kube-apiserver's.
 */
import assert from 'node:assert/strict'

export const limits = {
  /** Bytes of what a policy tells the audit log under one key; upstream's maxAuditAnnotationValueLength. */
  auditAnnotationBytesMax: 10 * 1024,
  /** Characters of a user agent that the audit log shows; upstream's. */
  auditUserAgentLengthMax: 1024,
  /** Looks for a default ServiceAccount that its controller is about to make; upstream's ten tries of 100 to 200 ms. */
  defaultAccountTriesMax: 10,
  defaultAccountRetryMs: 150,
  /** How long the Lease of a server lasts, upstream's hour; it is renewed three times in it, not every 10 s: an idle disk may sleep. */
  identityLeaseSeconds: 3600,
  identityLeaseRenewMs: 20 * 60 * 1000,
  /** Rest before the server's own watch of its objects starts again after a failure, or a write of its start. */
  retryMs: 1_000,
  /** How long the objects of a definition that goes are waited for before their deletion is asked for again; upstream's minute. */
  definitionCleanupMsMax: 60_000,
  /** Longest manifest of a static Pod; upstream's maxConfigLength. */
  manifestBytesMax: 10 * 1024 * 1024,
  /** How long a start tries to make what every cluster has; upstream's, of its bootstrap hooks. */
  bootstrapMs: 30_000,
  /** After how long a client tries again whose list meets objects that cannot be decrypted; upstream's. */
  cacheRetrySecondsMax: 30,
  /** Keys of a KMS plugin that metrics tell apart; upstream's. */
  kmsKeysMeasuredMax: 100,
  /** Opened seeds of a KMS plugin that are kept, each some 300 bytes: as many as there were keys and starts of servers since objects were rewritten. */
  kmsSeedsMax: 10_000,
  /** What a KMS plugin may answer with a key that it encrypted: its id, the key, what it notes beside it; upstream's. */
  kmsKeyIdBytesMax: 1024,
  kmsEncryptedKeyBytesMax: 1024,
  kmsAnnotationsBytesMax: 32 * 1024,
  /** How long values are still encrypted with a seed of a plugin that is not well; upstream's kmsv2PluginWriteDEKSourceMaxTTL. */
  kmsSeedLifetimeMs: 180_000,
  /** How long the plugins of a changed configuration of encryption have to be well, at least; upstream's minKMSPluginCloseGracePeriod. */
  kmsReadyMs: 10_000,
  /** How often a watch asks again a conversion webhook that failed. */
  conversionRetryMs: 1_000,
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
  /** Digits of a number that 64 bits may hold: to make one of a million of them takes seconds. */
  uint64DigitsMax: 20,
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
  /** Kinds that one rule of a policy may match to be checked against, also those found twice; upstream's maxTypesToCheck. */
  celKindsCheckedMax: 10,
  /** Bytes of a message that an expression makes; upstream's MaxEvaluatedMessageExpressionSizeBytes. */
  celMessageBytesMax: 5 * 1024,
  /** Cost of the selector of a device on one device; upstream's CELSelectorExpressionMaxCost. */
  celDeviceCostMax: 1_000_000n,
  /** Problems of one expression that are told, and characters of the line that is shown with them; cel-go's. */
  celProblemsShownMax: 100,
  celSnippetCharactersMax: 16_384,
  /** Patterns that are kept compiled: each is of a definition or a policy, and used for every object. */
  patternsKept: 1_000,
  /** Values of one ConfigMap or Secret together; upstream's MaxSecretSize. */
  configDataBytesMax: 1024 * 1024,
  /** Selectable fields of one version of a definition; upstream's MaxSelectableFields. */
  selectableFieldsMax: 8,
  /** Characters of a field manager's name, also of one made of a User-Agent; upstream's FieldManagerMaxLength. */
  fieldManagerLengthMax: 128,
  /** Decimal exponent of a quantity: 10^exponent is computed, and what no machine has must not cost one its memory. */
  quantityExponentMax: 400,
  /** Characters of a quantity: upstream reckons with as many digits as there are, 16 s with 50,000. */
  quantityLengthMax: 1_000,
  /** Texts of quantities whose meaning is kept, and their characters. */
  quantitiesKept: 1_000,
  quantityLengthKeptMax: 24,
  /** Seconds that a token of a ServiceAccount may be asked for; upstream's MinTokenAgeSec and its 2^32. */
  tokenSecondsMin: 600,
  tokenSecondsMax: 2 ** 32,
  /** What a Pod's own token is asked for, and how long it holds then; upstream's WarnOnlyBoundTokenExpirationSeconds and ExpirationExtensionSeconds. */
  podTokenSeconds: 3_607,
  extendedTokenSeconds: 365 * 24 * 3_600,
  /** How long an Event is kept; upstream's --event-ttl. */
  eventTtlSeconds: 3_600,
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
  /** Tokens whose signature is not looked at again, and users whose last mode of impersonation is known. */
  verifiedTokensKept: 10_000,
  /** Issuers of JWTs that a configuration may name; upstream's. */
  jwtIssuersMax: 64,
  /** How long a request to such an issuer may take, how often one that was not reached is asked again, and how soon new keys are; the first two are upstream's. */
  issuerTimeoutMs: 30_000,
  issuerRetryMs: 10_000,
  issuerKeysPauseMs: 1_000,
  /** How often a file of configuration is looked at where nobody tells of a change; upstream's. */
  configurationRereadMs: 60_000,
  /** How much a token may be ahead of its time; go-oidc's. */
  jwtEarlySeconds: 60,
  /** How long what a webhook says of a token holds; upstream's default. */
  tokenWebhookCacheMs: 120_000,
  impersonationModesKept: 10_000,
  /** Field names whose path elements are kept; all built-in types together have some 2,000. */
  fieldElementsKept: 10_000,
  /** Children of a set of fields that is shared among objects, and steps of the tree in which such sets are found (2 MB). */
  sharedSetLengthMax: 128,
  sharedSetStepsMax: 20_000,
  /** Deepest YAML that is decoded: the composer takes over a kilobyte of stack a level, and near its end V8 may abort. */
  yamlDepthMax: 250,
  /** Deepest JSON that is decoded. encoding/json stops at 10,000, where JSON.stringify has run out of stack. */
  jsonDepthMax: 1_000,
  /** Unknown and duplicate fields of one body that are told; sigs.k8s.io/json collects no more. */
  strictErrorsMax: 100,
  /** YAML up to this size is read at once, which takes some 20 ms; larger one in a thread of its own. */
  yamlAtOnceBytesMax: 8 * 1024,
  /** Heap of that thread: what the least kind of 3 MiB takes, a million empty lists. It goes when none has come for a while. */
  yamlThreadMegabytesMax: 1_536,
  yamlThreadIdleMs: 10_000,
  /** Aliases that one YAML body may resolve. */
  yamlAliasesMax: 100,
  /** Keys and values of all annotations of one object; upstream's TotalAnnotationSizeLimitB. */
  annotationsBytesMax: 256 * 1024,
  /** Controllers too many of one object that are told of: each is told with all owners. */
  controllersToldMax: 10,
  /** Tries to find a free name for generateName; upstream's maxNameGenerationCreateAttempts. */
  generateNameAttemptsMax: 8,
  /** Characters of a generated name, whatever the kind allows; upstream's maxNameLength. */
  generatedNameLengthMax: 63,
  /** Addresses drawn by chance before the free ones of a range are looked through. */
  randomAddressTriesMax: 8,
  /** Answers about images that are kept, and buckets for Events of one limit unless the limit says; upstream's. */
  imageReviewsKept: 1_024,
  eventLimitBucketsDefault: 4_096,
  /** Tries of one write against others that a quota counts at the same time. */
  quotaTriesMax: 10,
  /** Existing Pods that an update of a namespace looks at; upstream's defaultNamespaceMaxPodsToCheck. */
  podSecurityChecksMax: 3_000,
  /** Tries of one eviction, and Pods of one budget under way; upstream's EvictionsRetry and MaxDisruptedPodSize. */
  evictionAttemptsMax: 20,
  disruptedPodsMax: 2_000,
  /** Bytes of a webhook's refusal that are shown; upstream's maxUnstructuredResponseTextBytes. */
  webhookAnswerShownBytesMax: 2_048,
  /** Questions whose answers of an authorization webhook are kept, and the characters in one that who asks may choose; upstream's. */
  authorizationsKept: 8_192,
  authorizationKeptLengthMax: 10_000,
  /** Bytes of one policy of attribute-based access control; Go's MaxScanTokenSize. */
  policyLineBytesMax: 64 * 1024,
  /** How long such an answer holds; upstream's defaults. */
  authorizedKeptMs: 300_000,
  unauthorizedKeptMs: 30_000,
  /** Match conditions of one authorization webhook; upstream's. */
  authorizationConditionsMax: 64,
  /** How often a webhook that a kubeconfig names is tried, how long the first wait is, and how long one try may take; upstream's. */
  webhookTriesMax: 5,
  webhookBackoffMs: 500,
  webhookTimeoutMs: 30_000,
  /** How long a conversion webhook may take; the default of upstream's client. */
  conversionTimeoutSeconds: 30,
  /** Characters of all warnings of one answer, and of each beyond that; upstream's truncateAtTotalRunes and truncateItemRunes. */
  warningsRunesMax: 4_096,
  longWarningRunesMax: 256,
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
  watchHistoryBytesMax: 32 * 1024 * 1024,
  /** Events of one batch that a driver yields to who catches up; whole revisions may make it larger. */
  watchBatchLengthMax: 4_096,
  /** JSON bytes whose decoded objects are kept at hand, and bytes of other forms of objects (protobuf, other versions); what is not is made again. */
  decodedObjectsBytesMax: 12 * 1024 * 1024,
  madeFormsBytesMax: 16 * 1024 * 1024,
  /** Lists by one label or field that were asked for twice, kept in one piece while nothing in them is written: together, and each. */
  joinedListsBytesMax: 12 * 1024 * 1024,
  joinedListBytesMax: 1024 * 1024,
  /** Shortest time that they are kept, whatever else is asked for. */
  joinedListsKeptMs: 10_000,
  /** Frames of watches that were just made, for the watchers that are told next. */
  madeFramesBytesMax: 8 * 1024 * 1024,
  /** Beginning of a stored object's JSON that is searched for its metadata: in all but odd cases they are there. */
  beginningBytesMax: 2_048,
  /** Entries of one chunk of a sorted map before it is cut in two: small enough to move, large enough to scan. */
  chunkLengthMax: 512,
  /** Label keys of one resource that are indexed; they are chosen by clients, the rest is scanned. */
  labelIndexesMax: 32,
  /** Bytes of objects in one batch of a watch, so that a watcher that catches up does not hold the process. */
  watchBatchBytesMax: 256 * 1024,
  /** Bytes of a message over WebSocket from a client that is only told something; what it says is passed over. */
  webSocketMessageBytesMax: 64 * 1024,
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
  /** How long a component is asked how it is, and what it may say; upstream's probeTimeOut and maxRespBodyLength. */
  componentProbeTimeoutMs: 20_000,
  componentProbeTextMax: 10 * 1024,
  /** How long a start waits for an etcd that is not there; upstream's dialTimeout. */
  etcdDialTimeoutMs: 20_000,
  /** How long a health check waits for storage; upstream's --etcd-healthcheck-timeout and --etcd-readycheck-timeout. */
  healthCheckTimeoutMs: 2_000,
  /** Objects in one page that a collection delete reads. */
  deleteCollectionPageLength: 10_000,
  /** Removals of a collection delete that wait for the disk at once: enough to share a commit, few enough to stop soon. */
  deleteCollectionWritesMax: 256,
  /** Live non-mutating and mutating requests; together, the seats that levels of priority share. Upstream's --max-requests-inflight pair. */
  readRequestsInFlightMax: 400,
  mutatingRequestsInFlightMax: 200,
  /** Seats of a list and of a write; upstream's MaximumListSeatsLimit and MaximumMutatingSeatsLimit. */
  listSeatsMax: 100,
  writeSeatsMax: 10,
  /** Longest wait for a seat; upstream's. */
  seatWaitMaxMs: 60_000,
  /** How often levels of priority lend each other seats anew; upstream's borrowingAdjustmentPeriod. */
  borrowingAdjustmentMs: 10_000,
  /** The latest that who was refused is asked to come back; upstream's maxRetryAfter. */
  retryAfterSecondsMax: 32,
  /** Flows of one schema whose queues are known without being dealt again: users or namespaces, which clients choose. */
  flowHandsMax: 1_000,
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
  /** How long a connection that was refused is still read: net/http's rstAvoidanceDelay. */
  resetAvoidanceMs: 500,
  keepAliveTimeoutMs: 90_000,
  /** Streams that a client may have open on one connection of HTTP/2; upstream's of kube-apiserver. */
  http2StreamsMax: 1_000,
  /** How often a session of HTTP/2 is looked at: who was silent since the last look is asked, and has until the next to answer. */
  sessionLookMs: 30_000,
  /** A draining server waits this long for requests that it accepted. */
  drainTimeoutMs: 10_000,
  /** Transactions that one LevelDB batch may merge (group commit), and their bytes. */
  groupCommitTransactionsMax: 256,
  groupCommitBytesMax: 4 * 1024 * 1024,
  /** What one write of a backup that is restored may hold; less than etcd's DefaultMaxRequestBytes. */
  restoredBytesMax: 1024 * 1024,
  /**
   * A batch of so many transactions, but not of so many, waits up to so many turns of the event loop for others: until the
   * clients that the batch before has answered write again. Idle turns cost some microseconds each.
   */
  groupCommitWaitsFrom: 4,
  groupCommitGathered: 16,
  groupCommitTurns: 4,
  /** LevelDB's write buffer, larger than its 4 MB: fewer and larger tables, and no stall while one is written out. */
  writeBufferBytes: 16 * 1024 * 1024,
  /** Removals of a compaction that one batch takes along. */
  removalsInBatchMax: 1_000,
  /** Keys that a driver is asked for at once, as a whole store in one answer would be held twice; and the bytes that LevelDB reads ahead at a start. */
  rangeLength: 1_000,
  replayBytes: 4 * 1024 * 1024,
  /** Values on one lease of etcd; upstream's defaultLeaseMaxObjectCount. */
  leaseUsesMax: 1_000,
  /** Objects in one page of who reads everything; client-go's DefaultPageSize. */
  pageLength: 500,
  /** Node's timers take no more; whoever waits longer is woken in vain. */
  timerMsMax: 2 ** 31 - 1,

  // Clients: controllers, scheduler, kubelet, metrics server.

  /** Requests of one process in flight, watches aside: more would only open connections, whose handshakes cost more than the wait. */
  clientConnectionsMax: 16,
  /** Objects known to be gone, so that a late answer to a write does not bring them back to an informer. */
  goneObjectsKept: 1_000,
  /** client-go's of events: known ones, waiting ones, burst of one object, refill of one more, characters of a message. */
  eventsKept: 4_096,
  eventsWaitingMax: 1_000,
  eventBurstMax: 25,
  eventRefillMs: 300_000,
  eventMessageLengthMax: 1_024,
  /** So many messages of one reason within the time, and the next are told as one event; client-go's. */
  similarEventsMax: 10,
  similarEventsMs: 600_000,
  /** Requests for Pods of one owner at once. */
  podRequestsMax: 32,
  /** Pods that one round makes or ends; upstream's BurstReplicas of ReplicaSets and of DaemonSets. */
  replicaBurstMax: 500,
  daemonBurstMax: 250,
  /** Addresses of one Endpoints object, and of a subset that is mirrored; upstream's maxCapacity and --mirroring-max-endpoints-per-subset. */
  endpointAddressesMax: 1_000,
  /** Missed starts of a CronJob, beyond which clocks are off or its schedule is too dense to catch up. */
  missedStartsMax: 100,
  /** Owners known to be absent; upstream's size of the uidsCache. */
  absentOwnersKept: 500,
  /** Characters of the name of a claim by template before its suffix, which makes them 63; upstream's maxBaseLen. */
  claimNameLengthMax: 57,
  /** Bindings of the scheduler at once. */
  bindingsMax: 32,
  /** Kubelets that the metrics server asks at once, and how long one may take. */
  kubeletReadsMax: 16,
  kubeletReadTimeoutMs: 10_000,
  /** Pods that a node takes; upstream's 110 is for machines whose Pods are containers. */
  podsPerNodeMax: 1_100,
  /** Images in a Node's status, and names of each; upstream's nodeStatusMaxImages and MaxNamesPerImageInNodeStatus. */
  nodeImagesMax: 50,
  nodeImageNamesMax: 5,
  /** Answers about who asks a kubelet and what they may, and how long they hold; upstream's defaults of its webhook authentication and authorization. */
  kubeletReviewsKept: 1_024,
  tokenReviewMs: 120_000,
  allowedReviewMs: 300_000,
  deniedReviewMs: 30_000,
  /** How often the kubelet looks for Pods that have to go, and how long it waits for one that does before it looks again; upstream's evictionMonitoringPeriod and podCleanupTimeout. */
  evictionPeriodMs: 10_000,
  evictionWaitMsMax: 30_000,
  /** Statuses of Pods that are written at once. */
  statusWritesMax: 16,
  /** How often one probe is tried that cannot be asked; upstream's maxProbeRetries. */
  probeAttemptsMax: 3,
  /** Requests that one probe or hook makes where it is redirected; as Go's client. */
  handlerRequestsMax: 10,
  /** Bytes kept of what a probe or a hook said; upstream's maxRespBodyLength. */
  handlerOutputBytesMax: 10 * 1024,
  /** Characters of an image's name without registry, tag and digest; distribution's RepositoryNameTotalLengthMax. */
  imageNameLengthMax: 255,
  /** Characters of what a Pod calls itself, and of what its kernel may be told. */
  hostnameLengthMax: 63,
  kernelNameLengthMax: 64,
  /** What resolvers take of a Pod's resolv.conf; upstream's MaxDNSNameservers, MaxDNSSearchPaths, DNS1123SubdomainMaxLength and MaxDNSSearchListChars. */
  dnsServersMax: 3,
  dnsSearchesMax: 32,
  dnsNameLengthMax: 253,
  dnsSearchLineLengthMax: 2_048,
  /** Bytes of a termination message, and of one taken from the log; upstream's MaxContainerTerminationMessageLength and …LogLength. */
  terminationMessageBytesMax: 4_096,
  terminationLogBytesMax: 2_048,
  /** Bytes of all termination messages of a Pod, which its containers share; upstream's MaxPodTerminationMessageLogLength. */
  podTerminationMessageBytesMax: 12 * 1024,
  /** Bytes of a container's log, beyond which it is moved aside once and begins anew; upstream's containerLogMaxSize. */
  containerLogBytesMax: 10 * 1024 * 1024,
  /** Bytes that a slow client may leave in a kubelet's hands before its command's output waits. */
  commandOutputBytesMax: 1024 * 1024,
  /** Bytes that a command or a port may leave there before its client's input waits. */
  commandInputBytesMax: 1024 * 1024,
  /** A frame of SPDY longer than this is no frame of a client of ours. */
  spdyFrameBytesMax: 1024 * 1024,
  /** A client that has upgraded opens its streams within this time; upstream's DefaultStreamCreationTimeout. */
  spdyStreamsWaitMsMax: 30_000,
  /** No shim takes longer from its start to its first line, however busy the machine. */
  shimClaimMsMax: 3_600_000,
  /** Looks for what a container left behind: it may fork meanwhile, so another one until nothing is found. */
  sweepsMax: 5,
  /** Grace of Pods when their kubelet ends; `kubelevel up` waits ten seconds for its children. */
  shutdownGraceSecondsMax: 6,
  /** A node that goes down waits so long for who was killed last, and for the statuses and Events that tell of it. */
  lastWordsMsMax: 5_000,
  /** Steps of a Pod that the dashboard keeps, states of each of its lanes, Pods that are gone, pages that follow them. */
  dashboardStepsMax: 500,
  dashboardSpansMax: 200,
  dashboardGonePodsMax: 100,
  dashboardPagesMax: 32,
  /** A cluster's range of Pod addresses is cut into at most 2 to this many parts; upstream's clusterSubnetMaxDiff. */
  rangeCutBitsMax: 16,
} as const

assert(limits.writeTimeoutMs < limits.requestTimeoutMs)
assert(limits.requestBodyBytesMax < limits.groupCommitBytesMax)
