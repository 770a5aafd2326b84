/** Devices of nodes and of the network are claimed, shared, tainted and given back. */
import { resources } from '#client/resources.js'
import { type Dice, given } from '../../dice.js'
import {
  type Act,
  change,
  create,
  holder,
  nameIn,
  type Place,
  remove,
  type Step,
  slowly,
  step,
  toPod,
} from '../script.js'
import { between, template } from './pieces.js'

/** What fits nowhere is tried again some seconds later; a taint's toleration lasts up to four. */
const quietMs = 8_000

const driverOf = ({ namespace }: Place): string => `${namespace}.example.com`
const extendedOf = ({ namespace }: Place): string => `${namespace}.example.com/part`

const deviceClass =
  (name: string, expression: (driver: string) => string, more?: (place: Place) => object): Act =>
  (place) =>
    create(resources.deviceClasses, {
      metadata: { name },
      spec: {
        selectors: [{ cel: { expression: expression(driverOf(place)) } }],
        ...more?.(place),
      },
    })(place)
const classes = ['any', 'fast', 'part']
const deviceClasses = [
  deviceClass('any', (driver) => `device.driver == "${driver}"`),
  deviceClass(
    'fast',
    (driver) => `device.driver == "${driver}" && device.attributes["${driver}"].rank >= 2`,
    (place) => ({
      config: [{ opaque: { driver: driverOf(place), parameters: { kind: 'Fast' } } }],
    }),
  ),
  deviceClass(
    'part',
    (driver) => `device.driver == "${driver}" && "memory" in device.capacity["${driver}"]`,
    (place) => ({ extendedResourceName: extendedOf(place) }),
  ),
]

const taint = (dice: Dice) =>
  given({
    key: 'a',
    value: dice.pick([undefined, 'v']),
    effect: dice.pick(['NoSchedule', 'NoExecute', 'NoExecute', 'None']),
  })

const device = (dice: Dice, i: number, hasCounters: boolean) => {
  const isShared = dice.oneIn(4)
  const capacity = given({
    value: dice.pick(['8Gi', '16Gi']),
    requestPolicy: isShared
      ? dice.maybe(
          () =>
            dice.pick([
              { default: '1Gi', validRange: { min: '1Gi', step: '2Gi', max: '7Gi' } },
              { default: '2Gi', validValues: ['2Gi', '4Gi'] },
            ]),
          2,
        )
      : undefined,
  })
  return given({
    name: `device-${i}`,
    attributes: {
      rank: { int: dice.below(4) },
      model: { string: dice.pick(['x', 'y']) },
      ...(dice.oneIn(2) ? { 'example.com/switch': { string: dice.pick(['s', 't']) } } : {}),
    },
    capacity: isShared || dice.oneIn(2) ? { memory: capacity } : undefined,
    allowMultipleAllocations: isShared ? true : undefined,
    taints: dice.maybe(() => [taint(dice)], 6),
    consumesCounters: hasCounters
      ? [{ counterSet: 'whole', counters: { units: { value: dice.pick(['1', '2', '4']) } } }]
      : undefined,
    ...(dice.oneIn(10)
      ? {
          bindsToNode: dice.oneIn(2),
          bindingConditions: ['example.com/attached'],
          bindingFailureConditions: ['example.com/broken'],
        }
      : {}),
  })
}

const wheres = [{ nodeName: 'n1' }, { nodeName: 'n2' }, { nodeName: 'n1' }, { allNodes: true }]

/** A pool, seldom one that is not complete. */
const pool = (dice: Dice, i: number, generation = 1): Act => {
  const hasCounters = dice.oneIn(4)
  const isIncomplete = dice.oneIn(8)
  // Which would keep Pods of other scripts from its node, too.
  const where = isIncomplete ? { nodeName: 'n3' } : dice.pick(wheres)
  const slices = hasCounters ? 2 : 1
  const devices = Array.from({ length: between(dice, 1, 4) }, (_, at) =>
    device(dice, at, hasCounters),
  )
  return async (place) => {
    const spec = {
      driver: driverOf(place),
      ...where,
      pool: {
        name: `pool-${i}`,
        generation,
        resourceSliceCount: isIncomplete ? slices + 1 : slices,
      },
    }
    const name = `slice${i}g${generation}`
    if (hasCounters)
      await create(resources.resourceSlices, {
        metadata: { name: `counters${name}` },
        spec: { ...spec, sharedCounters: [{ name: 'whole', counters: { units: { value: '4' } } }] },
      })(place)
    await create(resources.resourceSlices, { metadata: { name }, spec: { ...spec, devices } })(
      place,
    )
  }
}

const selector = (dice: Dice) => {
  const expression = dice.pick<(driver: string) => string>([
    (driver) => `device.attributes["${driver}"].rank > 0`,
    (driver) => `device.attributes["${driver}"].model == "x"`,
    (driver) => `device.attributes["${driver}"].nothing == "x"`,
    (driver) =>
      `device.capacity["${driver}"].?memory.orValue(quantity("0")).compareTo(quantity("9Gi")) > 0`,
    () => `has(device.attributes["example.com"].switch)`,
  ])
  return (driver: string) => ({ cel: { expression: expression(driver) } })
}

const toleration = (dice: Dice) =>
  given({
    key: dice.maybe(() => 'a', 3),
    operator: 'Exists',
    effect: dice.maybe(() => dice.pick(['NoExecute', 'NoSchedule']), 3),
  })
const briefly = { key: 'a', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 4 }

type Exactly = (place: Place) => object

const exactly = (dice: Dice): Exactly => {
  const name = dice.pick(classes)
  const selectors = dice.oneIn(3) ? [selector(dice)] : []
  const rest = given({
    ...dice.pick([{}, {}, { count: 1 }, { count: 2 }, { count: 3 }, { allocationMode: 'All' }]),
    tolerations: dice.maybe(() => [dice.pick([toleration(dice), briefly])], 4),
    capacity: dice.maybe(() => dice.pick(['1Gi', '3Gi', '5Gi', '20Gi']), 4),
  })
  return (place) => {
    const driver = driverOf(place)
    const { capacity, ...others } = rest
    return given({
      deviceClassName: nameIn(place, resources.deviceClasses, name),
      selectors: selectors.length === 0 ? undefined : selectors.map((known) => known(driver)),
      ...others,
      capacity: capacity === undefined ? undefined : { requests: { memory: capacity } },
    })
  }
}

const request = (dice: Dice, i: number) => {
  const some = Array.from({ length: dice.oneIn(4) ? between(dice, 1, 3) : 0 }, () => exactly(dice))
  const one = exactly(dice)
  return (place: Place) => ({
    name: `r${i}`,
    ...(some.length === 0
      ? { exactly: one(place) }
      : { firstAvailable: some.map((known, at) => ({ name: `s${at}`, ...known(place) })) }),
  })
}

/** Of a claim. */
const specOf = (dice: Dice) => {
  const requests = Array.from({ length: dice.pick([1, 1, 2]) }, (_, i) => request(dice, i))
  const constraint = dice.maybe(
    () => ({
      kind: dice.pick(['matchAttribute', 'matchAttribute', 'distinctAttribute']),
      attribute: dice.pick(['model', 'rank', 'switch']),
    }),
    3,
  )
  const isConfigured = dice.oneIn(5)
  return (place: Place) => {
    const driver = driverOf(place)
    const domain = constraint?.attribute === 'switch' ? 'example.com' : driver
    return {
      devices: given({
        requests: requests.map((known) => known(place)),
        constraints: constraint && [{ [constraint.kind]: `${domain}/${constraint.attribute}` }],
        config: isConfigured
          ? [{ requests: ['r0'], opaque: { driver, parameters: { mode: 'quiet' } } }]
          : undefined,
      }),
    }
  }
}

const claim = (dice: Dice, i: number): Act => {
  const spec = specOf(dice)
  return (place) =>
    create(resources.resourceClaims, { metadata: { name: `c${i}` }, spec: spec(place) })(place)
}
const claimTemplate = (dice: Dice): Act => {
  const spec = specOf(dice)
  return (place) =>
    create(resources.resourceClaimTemplates, {
      metadata: { name: 'template' },
      spec: { metadata: { labels: { of: 'template' } }, spec: spec(place) },
    })(place)
}

const user = (dice: Dice, i: number): Act => {
  const fate = dice.pick([undefined, undefined, 'end-0', 'end-1'])
  const { metadata, spec } = template(dice, 'a', fate, dice.pick(['Never', 'Always']))
  const wanted = dice.pick([
    ['c0'],
    ['c0'],
    ['c1'],
    ['c2'],
    ['c0', 'c1'],
    ['template'],
    ['template', 'c0'],
    [],
  ])
  const resourceClaims = wanted.map((name) =>
    name === 'template'
      ? { name, resourceClaimTemplateName: name }
      : { name, resourceClaimName: name },
  )
  const count = dice.pick(['1', '1', '2'])
  const node = dice.pick(['n1', 'n1', 'n1', 'n2', 'n2', 'n3'])
  const finalizers = dice.maybe(() => [holder], 8)
  return (place) => {
    const parts = { [extendedOf(place)]: count }
    const [main] = spec.containers
    return create(resources.pods, {
      metadata: given({ ...metadata, name: `p${i}`, finalizers }),
      spec: {
        ...spec,
        nodeSelector: { 'kubernetes.io/hostname': node },
        containers: [
          {
            ...main,
            resources:
              wanted.length === 0
                ? { requests: parts, limits: parts }
                : { claims: wanted.map((name) => ({ name })) },
          },
        ],
        resourceClaims,
      },
    })(place)
  }
}

interface Turn {
  readonly dice: Dice
  readonly i: number
}

const slice = (dice: Dice): string => `slice${dice.below(2)}g1`

const changes: ((turn: Turn) => Step)[] = [
  ({ dice, i }) => step('a Pod', user(dice, i)),
  ({ dice, i }) => step('a Pod', user(dice, i)),
  ({ dice, i }) => step('a Pod', user(dice, i)),
  () => step('delete a Pod', toPod('a', 'delete')),
  ({ dice, i }) => step('delete a Pod', remove(resources.pods, `p${dice.below(i + 1)}`)),
  () => step('force a Pod', toPod('a', 'force')),
  ({ dice }) => step('delete a claim', remove(resources.resourceClaims, `c${dice.below(3)}`)),
  ({ dice }) => step('delete a slice', remove(resources.resourceSlices, slice(dice))),
  ({ dice }) => step('another pool', pool(dice, 1, 2)),
  ({ dice }) => step('another claim', claim(dice, dice.below(3))),
  ({ dice }) => step('a template', claimTemplate(dice)),
  () => step('delete the template', remove(resources.resourceClaimTemplates, 'template')),
  ({ dice }) => step('delete a class', remove(resources.deviceClasses, dice.pick(classes))),
  ({ dice }) => {
    const name = slice(dice)
    const taints = [taint(dice)]
    return step('a taint', async ({ client, namespace }) => {
      const at = { name: `${namespace}-${name}` }
      // biome-ignore lint/suspicious/noExplicitAny: of a slice
      const { spec } = (await client.get(resources.resourceSlices, at)) as any
      const [first, ...others] = spec.devices
      const devices = [{ ...first, taints }, ...others]
      await client.patch(resources.resourceSlices, at, { spec: { devices } }, { type: 'merge' })
    })
  },
  ({ dice }) => {
    const name = `c${dice.below(3)}`
    const type = dice.pick(['example.com/attached', 'example.com/broken'])
    return step(`a device of ${name}: ${type}`, async ({ client, namespace }) => {
      const at = { name, namespace }
      // biome-ignore lint/suspicious/noExplicitAny: of a claim
      const { status } = (await client.get(resources.resourceClaims, at)) as any
      const told = { type, status: 'True', reason: 'So', message: '' }
      const devices = (status?.allocation?.devices?.results ?? []).map(
        ({ driver, pool, device, shareID }: Record<string, string>) =>
          given({
            driver,
            pool,
            device,
            shareID,
            conditions: [{ ...told, lastTransitionTime: new Date().toISOString() }],
          }),
      )
      await client.patch(
        resources.resourceClaims,
        at,
        { status: { devices } },
        {
          type: 'merge',
          subresource: 'status',
        },
      )
    })
  },
  ({ i }) =>
    step(
      'let go of Pods',
      ...Array.from({ length: i + 1 }, (_, at) =>
        change(resources.pods, `p${at}`, { metadata: { finalizers: null } }),
      ),
    ),
]

export const devicesScript = (dice: Dice): Step[] =>
  [
    step('classes', ...deviceClasses),
    step('pools', pool(dice, 0), ...dice.some([pool(dice, 1)])),
    step('claims', claim(dice, 0), claim(dice, 1), claim(dice, 2), claimTemplate(dice)),
    step('a Pod', user(dice, 0)),
    ...Array.from({ length: between(dice, 3, 6) }, (_, i) =>
      dice.pick(changes)({ dice, i: i + 1 }),
    ),
  ].map((known) => slowly(known, quietMs))
