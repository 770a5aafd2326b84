/** What plugins cannot be told. Upstream: pkg/scheduler/apis/config/validation. */
import {
  child,
  duplicate,
  type FieldError,
  forbidden,
  index,
  invalid,
  invalidEach,
  notSupported,
  required,
} from '#api/field-error.js'
import { isQualifiedName } from '#api/names.js'
import type { TopologySpreadConstraint } from '#client/pod.js'
import { durationMs } from '#go/duration.js'
import type {
  PluginArguments,
  PluginWithArguments,
  ResourceWeight,
  ScoringStrategy,
  ShapePoint,
} from './plugin-arguments.js'

type Rules = {
  readonly [Name in PluginWithArguments]: (
    args: PluginArguments[Name],
    path: string,
  ) => FieldError[]
}

const within = (
  path: string,
  value: number,
  [least, most]: readonly [number, number],
  range = `[${least}, ${most}]`,
): FieldError[] =>
  value < least || value > most ? [invalid(path, value, `not in valid range ${range}`)] : []

const validResourceWeights = (resources: readonly ResourceWeight[], path: string): FieldError[] =>
  resources.flatMap(({ name, weight }, at) =>
    weight <= 0 || weight > 100
      ? [
          invalid(
            child(index(path, at), 'weight'),
            weight,
            `resource weight of ${name} not in valid range (0, 100]`,
          ),
        ]
      : [],
  )

const validShape = (shape: readonly ShapePoint[], path: string): FieldError[] => {
  if (shape.length === 0) return [required(path, 'at least one point must be specified')]
  const unsorted = shape.findIndex(
    ({ utilization }, at) => at > 0 && shape[at - 1]!.utilization >= utilization,
  )
  const order =
    unsorted < 0
      ? []
      : [
          invalid(
            child(index(path, unsorted), 'utilization'),
            shape[unsorted]!.utilization,
            'values must be sorted in increasing order',
          ),
        ]
  return [
    ...order,
    ...shape.flatMap(({ utilization, score }, at) => [
      ...within(child(index(path, at), 'utilization'), utilization, [0, 100]),
      ...within(child(index(path, at), 'score'), score, [0, 10]),
    ]),
  ]
}

const strategies = ['LeastAllocated', 'MostAllocated', 'RequestedToCapacityRatio']

const validStrategy = (strategy: ScoringStrategy, path: string): FieldError[] => {
  const { type, resources, requestedToCapacityRatio: ratio } = strategy
  const ratioPath = child(path, 'requestedToCapacityRatio')
  const ratioErrors = (): FieldError[] => {
    if (type !== 'RequestedToCapacityRatio')
      return ratio === undefined
        ? []
        : [forbidden(ratioPath, 'must be nil when type is not RequestedToCapacityRatio')]
    return ratio === undefined
      ? [required(ratioPath, 'must be specified when type is RequestedToCapacityRatio')]
      : validShape(ratio.shape, child(ratioPath, 'shape'))
  }
  return [
    ...(strategies.includes(type) ? [] : [notSupported(child(path, 'type'), type, strategies)]),
    ...validResourceWeights(resources, child(path, 'resources')),
    ...ratioErrors(),
  ]
}

const actions = ['DoNotSchedule', 'ScheduleAnyway']

const validAction = (action: string, path: string): FieldError[] => {
  if (action === '') return [required(path, 'can not be empty')]
  return actions.includes(action) ? [] : [notSupported(path, action, actions)]
}

const validDefaultConstraint = (
  { maxSkew, topologyKey, whenUnsatisfiable, labelSelector }: TopologySpreadConstraint,
  path: string,
): FieldError[] => {
  const keyPath = child(path, 'topologyKey')
  return [
    ...(maxSkew <= 0
      ? [invalid(child(path, 'maxSkew'), maxSkew, 'not in valid range (0, inf)')]
      : []),
    ...(topologyKey === ''
      ? [required(keyPath, 'can not be empty')]
      : invalidEach(keyPath, topologyKey, isQualifiedName(topologyKey))),
    ...validAction(whenUnsatisfiable, child(path, 'whenUnsatisfiable')),
    ...(labelSelector === undefined
      ? []
      : [
          forbidden(
            child(path, 'labelSelector'),
            'constraint must not define a selector, as they deduced for each pod',
          ),
        ]),
  ]
}

const validDefaulting = (
  { defaultingType, defaultConstraints }: PluginArguments['PodTopologySpread'],
  path: string,
): FieldError[] => {
  if (!['System', 'List'].includes(defaultingType))
    return [notSupported(path, defaultingType, ['System', 'List'])]
  return defaultingType === 'System' && defaultConstraints.length > 0
    ? [invalid(path, defaultingType, 'when .defaultConstraints are not empty')]
    : []
}

const rules: Rules = {
  DefaultPreemption: (args, path) => {
    const { minCandidateNodesPercentage: percentage, minCandidateNodesAbsolute: absolute } = args
    const [percentagePath, absolutePath] = [
      child(path, 'minCandidateNodesPercentage'),
      child(path, 'minCandidateNodesAbsolute'),
    ]
    return [
      ...within(percentagePath, percentage, [0, 100]),
      ...within(absolutePath, absolute, [0, Number.POSITIVE_INFINITY], '[0, inf)'),
      ...(percentage === 0 && absolute === 0
        ? [
            invalid(
              percentagePath,
              percentage,
              'cannot be zero at the same time as minCandidateNodesAbsolute',
            ),
            invalid(
              absolutePath,
              absolute,
              'cannot be zero at the same time as minCandidateNodesPercentage',
            ),
          ]
        : []),
    ]
  },
  DynamicResources: ({ bindingTimeout }, path) =>
    durationMs(bindingTimeout) < 1_000
      ? [invalid(child(path, 'bindingTimeout'), bindingTimeout, 'must be at least 1 second')]
      : [],
  InterPodAffinity: ({ hardPodAffinityWeight }, path) =>
    within(child(path, 'hardPodAffinityWeight'), hardPodAffinityWeight, [0, 100]),
  NodeAffinity: () => [],
  NodeResourcesBalancedAllocation: ({ resources }, path) =>
    resources.flatMap(({ name, weight }, at) => {
      const own = index(child(path, 'resources'), at)
      const isRepeated = resources.slice(0, at).some((other) => other.name === name)
      return [
        ...(isRepeated ? [duplicate(child(own, 'name'), name)] : []),
        ...(weight === 1 ? [] : [invalid(child(own, 'weight'), weight, 'must be 1')]),
      ]
    }),
  NodeResourcesFit: ({ ignoredResources, ignoredResourceGroups, scoringStrategy }, path) => [
    ...ignoredResources.flatMap((name, at) =>
      invalidEach(index(child(path, 'ignoredResources'), at), name, isQualifiedName(name)),
    ),
    ...ignoredResourceGroups.flatMap((group, at) => {
      const own = index(child(path, 'ignoredResourceGroups'), at)
      return [
        ...(group.includes('/')
          ? [invalid(own, group, "resource group name can't contain '/'")]
          : []),
        ...invalidEach(own, group, isQualifiedName(group)),
      ]
    }),
    ...validStrategy(scoringStrategy, child(path, 'scoringStrategy')),
  ],
  PodTopologySpread: (args, path) => [
    ...validDefaulting(args, child(path, 'defaultingType')),
    ...args.defaultConstraints.flatMap((constraint, at) => {
      const { topologyKey, whenUnsatisfiable } = constraint
      const own = index(child(path, 'defaultConstraints'), at)
      const isRepeated = args.defaultConstraints
        .slice(0, at)
        .some((o) => o.topologyKey === topologyKey && o.whenUnsatisfiable === whenUnsatisfiable)
      return [
        ...validDefaultConstraint(constraint, own),
        ...(isRepeated ? [duplicate(own, `{${topologyKey}, ${whenUnsatisfiable}}`)] : []),
      ]
    }),
  ],
  VolumeBinding: ({ bindTimeoutSeconds, shape }, path) => [
    ...(bindTimeoutSeconds < 0
      ? [
          invalid(
            child(path, 'bindTimeoutSeconds'),
            bindTimeoutSeconds,
            'invalid BindTimeoutSeconds, should not be a negative value',
          ),
        ]
      : []),
    ...(shape === undefined
      ? []
      : [
          invalid(
            child(path, 'shape'),
            shape,
            'unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring',
          ),
        ]),
  ],
}

export const validateArguments = <Name extends PluginWithArguments>(
  name: Name,
  args: PluginArguments[Name],
  path: string,
): FieldError[] => rules[name](args, path)
