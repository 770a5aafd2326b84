/** KubeSchedulerConfigurations that are refused, with the words of kube-scheduler v1.36.3 where it knows the mistake. */
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { readConfiguration } from '#scheduler/configuration/read-configuration.js'

const head = {
  apiVersion: 'kubescheduler.config.k8s.io/v1',
  kind: 'KubeSchedulerConfiguration',
}
const told = (name: string, args: object) => ({ profiles: [{ pluginConfig: [{ name, args }] }] })
const chosen = (plugins: object) => ({ profiles: [{ plugins }] })
const strategy = (scoringStrategy: object) => told('NodeResourcesFit', { scoringStrategy })
const args = 'profiles[0].pluginConfig[0].args'
const profile = 'initializing profiles: creating profile for scheduler name default-scheduler'

const mistakes: readonly (readonly [given: object | string, problem: string])[] = [
  ['profiles: [', 'Flow sequence in block collection must be sufficiently indented'],
  [{ kind: 'X' }, 'no kind "X" is registered for version "kubescheduler.config.k8s.io/v1"'],
  [
    { apiVersion: 'kubescheduler.config.k8s.io/v1beta3' },
    'no kind "KubeSchedulerConfiguration" is registered for version "kubescheduler.config.k8s.io/v1beta3"',
  ],
  [{ profile: [] }, 'strict decoding error: unknown field "profile"'],
  [{ profiles: [1] }, 'strict decoding error: profiles[0] must be object'],
  [
    told('InterPodAffinity', { weight: 1 }),
    `strict decoding error: unknown field "${args}.weight"`,
  ],
  [
    told('InterPodAffinity', { hardPodAffinityWeight: 101 }),
    `${args}.hardPodAffinityWeight: Invalid value: 101: not in valid range [0, 100]`,
  ],
  [
    strategy({ type: 'Foo', resources: [{ name: 'cpu', weight: 101 }] }),
    `[${args}.scoringStrategy.type: Unsupported value: "Foo": supported values: "LeastAllocated", "MostAllocated", "RequestedToCapacityRatio", ${args}.scoringStrategy.resources[0].weight: Invalid value: 101: resource weight of cpu not in valid range (0, 100]]`,
  ],
  [
    strategy({ type: 'RequestedToCapacityRatio' }),
    `${args}.scoringStrategy.requestedToCapacityRatio: Required value: must be specified when type is RequestedToCapacityRatio`,
  ],
  [
    strategy({ requestedToCapacityRatio: { shape: [{ utilization: 1, score: 1 }] } }),
    `${args}.scoringStrategy.requestedToCapacityRatio: Forbidden: must be nil when type is not RequestedToCapacityRatio`,
  ],
  [
    strategy({
      type: 'RequestedToCapacityRatio',
      requestedToCapacityRatio: { shape: [{ utilization: 50, score: 11 }, { utilization: 10 }] },
    }),
    `[${args}.scoringStrategy.requestedToCapacityRatio.shape[1].utilization: Invalid value: 10: values must be sorted in increasing order, ${args}.scoringStrategy.requestedToCapacityRatio.shape[0].score: Invalid value: 11: not in valid range [0, 10]]`,
  ],
  [
    told('NodeResourcesFit', { ignoredResourceGroups: ['a/b'] }),
    `${args}.ignoredResourceGroups[0]: Invalid value: "a/b": resource group name can't contain '/'`,
  ],
  [
    told('NodeResourcesBalancedAllocation', {
      resources: [{ name: 'cpu', weight: 2 }, { name: 'cpu' }],
    }),
    `[${args}.resources[0].weight: Invalid value: 2: must be 1, ${args}.resources[1].name: Duplicate value: "cpu"]`,
  ],
  [
    told('PodTopologySpread', {
      defaultingType: 'List',
      defaultConstraints: [
        { whenUnsatisfiable: 'X' },
        { maxSkew: 1, topologyKey: 'z', whenUnsatisfiable: 'ScheduleAnyway', labelSelector: {} },
        { maxSkew: 1, topologyKey: 'z', whenUnsatisfiable: 'ScheduleAnyway' },
      ],
    }),
    `[${args}.defaultConstraints[0].maxSkew: Invalid value: 0: not in valid range (0, inf), ${args}.defaultConstraints[0].topologyKey: Required value: can not be empty, ${args}.defaultConstraints[0].whenUnsatisfiable: Unsupported value: "X": supported values: "DoNotSchedule", "ScheduleAnyway", ${args}.defaultConstraints[1].labelSelector: Forbidden: constraint must not define a selector, as they deduced for each pod, ${args}.defaultConstraints[2]: Duplicate value: "{z, ScheduleAnyway}"]`,
  ],
  [
    told('PodTopologySpread', {
      defaultConstraints: [{ maxSkew: 1, topologyKey: 'z', whenUnsatisfiable: 'ScheduleAnyway' }],
    }),
    `${args}.defaultingType: Invalid value: "System": when .defaultConstraints are not empty`,
  ],
  [
    told('DefaultPreemption', { minCandidateNodesPercentage: 0, minCandidateNodesAbsolute: 0 }),
    `[${args}.minCandidateNodesPercentage: Invalid value: 0: cannot be zero at the same time as minCandidateNodesAbsolute, ${args}.minCandidateNodesAbsolute: Invalid value: 0: cannot be zero at the same time as minCandidateNodesPercentage]`,
  ],
  [
    told('VolumeBinding', { bindTimeoutSeconds: -1 }),
    `${args}.bindTimeoutSeconds: Invalid value: -1: invalid BindTimeoutSeconds, should not be a negative value`,
  ],
  [
    told('DynamicResources', { bindingTimeout: '1ms' }),
    `${args}.bindingTimeout: Invalid value: "1ms": must be at least 1 second`,
  ],
  [
    { profiles: [{}, { schedulerName: 'a' }, { schedulerName: 'a' }] },
    '[profiles[0].schedulerName: Required value, profiles[2].schedulerName: Duplicate value: "a"]',
  ],
  [
    { percentageOfNodesToScore: 101, profiles: [{ percentageOfNodesToScore: -1 }] },
    '[profiles[0].percentageOfNodesToScore: Invalid value: -1: not in valid range [0-100], percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]]',
  ],
  [
    { podInitialBackoffSeconds: 0, podMaxBackoffSeconds: -1 },
    '[podInitialBackoffSeconds: Invalid value: 0: must be greater than 0, podMaxBackoffSeconds: Invalid value: -1: must be greater than or equal to PodInitialBackoffSeconds]',
  ],
  [
    { parallelism: 0 },
    'parallelism: Invalid value: 0: should be an integer value greater than zero',
  ],
  [
    chosen({ filter: { enabled: [{ name: 'constructor' }] } }),
    `${profile}: FilterPlugin "constructor" does not exist`,
  ],
  [
    chosen({ multiPoint: { enabled: [{ name: 'Foo' }] } }),
    `${profile}: PreFilterPlugin "Foo" does not exist`,
  ],
  [
    chosen({ filter: { enabled: [{ name: 'ImageLocality' }] } }),
    `${profile}: plugin "ImageLocality" does not extend FilterPlugin plugin`,
  ],
  [
    chosen({ score: { enabled: [{ name: 'ImageLocality' }, { name: 'ImageLocality' }] } }),
    `${profile}: plugin "ImageLocality" already registered as "ScorePlugin"`,
  ],
  [
    chosen({ queueSort: { disabled: [{ name: '*' }] } }),
    `${profile}: PrioritySort cannot be disabled here`,
  ],
  [
    chosen({ multiPoint: { disabled: [{ name: 'VolumeZone' }] } }),
    `${profile}: VolumeZone cannot be disabled here`,
  ],
  [
    {
      profiles: [{ pluginConfig: [{ name: 'NodeAffinity' }, { name: 'NodeAffinity', args: {} }] }],
    },
    'profiles[0].pluginConfig[1]: Duplicate value: "NodeAffinity"',
  ],
  [
    { leaderElection: { leaderElect: true, resourceLock: 'endpoints' } },
    'leaderElection.resourceLock: Invalid value: "endpoints": resourceLock value must be "leases"',
  ],
  [
    { leaderElection: { leaseDuration: 'x' } },
    'leaderElection.leaseDuration: time: invalid duration "x"',
  ],
  [
    {
      extenders: [
        {
          prioritizeVerb: 'p',
          bindVerb: 'b',
          managedResources: [{ name: 'example.com/x' }, { name: 'cpu' }, { name: 'a/b/c' }],
        },
        {
          prioritizeVerb: 'p',
          weight: -1,
          bindVerb: 'b',
          managedResources: [{ name: 'example.com/x' }],
        },
      ],
    },
    `[${[
      'extenders[0].weight: Invalid value: 0: must have a positive weight applied to it',
      'extenders[0].managedResources[1].name: Invalid value: "cpu": is an invalid extended resource name',
      `extenders[0].managedResources[2].name: Invalid value: "a/b/c": a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
      'extenders[1].weight: Invalid value: -1: must have a positive weight applied to it',
      'extenders[1].managedResources[0].name: Invalid value: "example.com/x": duplicate extender managed resource name',
      'extenders: Invalid value: "found 2 extenders implementing bind": only one extender can implement bind',
    ].join(', ')}]`,
  ],
  [
    { extenders: [{ tlsConfig: { insecure: true, caData: 'eA==' } }] },
    "couldn't build extenders: specifying a root certificates file with the insecure flag is not allowed",
  ],
  [
    { extenders: [{ tlsConfig: { caFile: '/none' } }] },
    "couldn't build extenders: open /none: no such file or directory",
  ],
  [
    { extenders: [{ tlsConfig: { caData: 'eA==' } }] },
    "couldn't build extenders: unable to load root certificates: unable to parse bytes as PEM block",
  ],
  [
    { extenders: [{ tlsConfig: { certData: 'eA==', keyData: 'eA==' } }] },
    "couldn't build extenders: tls: failed to find any PEM data in certificate input",
  ],
  [
    { extenders: [{ urlprefix: '' }] },
    'strict decoding error: unknown field "extenders[0].urlprefix"',
  ],
]

t.test('a configuration that cannot be meant is refused with what is wrong', async (t) => {
  const file = path.join(t.testdir(), 'config.yaml')
  for (const [given, problem] of mistakes) {
    writeFileSync(file, typeof given === 'string' ? given : JSON.stringify({ ...head, ...given }))
    await t.rejects(
      readConfiguration(file),
      { name: 'UsageError', message: `--config: ${file}: ${problem}` },
      problem.slice(0, 60),
    )
  }
})

t.test('what kube-scheduler reads and has no meaning here may stand in it', async (t) => {
  const file = path.join(t.testdir(), 'config.yaml')
  writeFileSync(
    file,
    `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
parallelism: 4
enableProfiling: true
percentageOfNodesToScore: 50
extenders:
  - { urlPrefix: 'http://one', filterVerb: f, ignorable: true, httpTimeout: 0s }
  - urlPrefix: https://two
    prioritizeVerb: p
    weight: 2
    httpTimeout: 1m
    nodeCacheCapable: true
    managedResources: [{ name: example.com/x, ignoredByScheduler: true }, { name: example.com/y }]
clientConnection: { kubeconfig: /etc/kubernetes/scheduler.conf, qps: 50.5, burst: 100 }
leaderElection: { leaderElect: true, leaseDuration: 1m }
podMaxBackoffSeconds: 3
profiles:
  - plugins:
      preScore: { disabled: [{ name: '*' }] }
      score: { disabled: [{ name: '*' }] }
    pluginConfig:
      - name: Coscheduling
        args: { permitWaitingTimeSeconds: 60 }
      - name: NodeResourcesFit
        args:
          apiVersion: kubescheduler.config.k8s.io/v1
          kind: NodeResourcesFitArgs
          scoringStrategy:
`,
  )
  t.match(await readConfiguration(file), {
    profiles: [
      {
        schedulerName: 'default-scheduler',
        plugins: { scores: new Map(), preempts: true },
        args: { NodeResourcesFit: { ignoredResources: ['example.com/x'] } },
      },
    ],
    extenders: [
      {
        url: 'https://two',
        timeoutMs: 60_000,
        weight: 2,
        knowsNodes: true,
        resources: new Set(['example.com/x', 'example.com/y']),
      },
      { url: 'http://one', timeoutMs: 5_000, verbs: { filter: 'f', bind: '' }, isIgnorable: true },
    ],
    backoff: { initialMs: 1_000, longestMs: 3_000 },
    flags: {
      kubeconfig: '/etc/kubernetes/scheduler.conf',
      'leader-elect': 'true',
      'leader-elect-lease-duration': '1m',
    },
  })
})
