/** Pods with random resources, resized at random. */
import { type Dice, given } from '../../dice.js'
import { remove } from '../subjects.js'
import { namespace, type Part, type Sweep } from '../sweep.js'
import { ask } from '../target.js'

type Fields = Record<string, unknown>

interface Container {
  resources?: { limits?: Fields; requests?: Fields }
  resizePolicy?: unknown
}

interface PodSpec {
  containers: Container[]
  initContainers?: Container[]
  resources?: Container['resources']
}

const pods = `/api/v1/namespaces/${namespace}/pods`

const amountsOf = ({ pick, maybe }: Dice): Fields =>
  given({
    cpu: maybe(() => pick(['1', '2'])),
    memory: maybe(() => pick(['1Gi', '2Gi'])),
    'ephemeral-storage': maybe(() => '1', 6),
    'example.com/x': maybe(() => '1', 6),
  })

const resourcesOf = (dice: Dice): Container['resources'] => {
  if (dice.oneIn(6)) return undefined
  const limits = amountsOf(dice)
  const requests = dice.oneIn(2) ? limits : amountsOf(dice)
  return given({
    limits: dice.oneIn(3) ? undefined : limits,
    requests: dice.oneIn(3) ? undefined : requests,
  })
}

const policyOf = ({ pick }: Dice) => [
  {
    resourceName: pick(['cpu', 'memory']),
    restartPolicy: pick(['NotRequired', 'RestartContainer']),
  },
]

const containerOf = (dice: Dice, name: string): Container =>
  given({
    name,
    image: 'i',
    resources: resourcesOf(dice),
    resizePolicy: dice.maybe(() => policyOf(dice), 3),
  })

const specOf = (dice: Dice): Fields =>
  given({
    containers: ['a', 'b'].slice(dice.below(2)).map((name) => containerOf(dice, name)),
    initContainers: dice.maybe(() => [
      given({ ...containerOf(dice, 'i'), restartPolicy: dice.maybe(() => 'Always') }),
    ]),
    resources: dice.maybe(() => resourcesOf(dice)),
    nodeName: dice.maybe(() => 'n', 4),
  })

const changes: readonly ((spec: PodSpec, dice: Dice) => void)[] = [
  (spec, dice) => {
    spec.resources = resourcesOf(dice)
  },
  ({ containers }, dice) => {
    containers[0]!.resources = resourcesOf(dice) ?? {}
  },
  ({ initContainers = [] }, dice) => {
    for (const container of initContainers) container.resources = resourcesOf(dice) ?? {}
  },
  ({ containers }, dice) => {
    containers[0]!.resizePolicy = policyOf(dice)
  },
  ({ containers }, dice) => {
    containers.reverse()
    if (dice.oneIn(2)) containers.push(containerOf(dice, 'z'))
  },
  ({ containers }) => {
    for (const { resources } of containers)
      for (const amounts of [resources?.limits, resources?.requests])
        if (amounts?.cpu !== undefined) amounts.cpu = '3'
  },
]

const runningStatus = {
  name: 'a',
  image: 'i',
  imageID: '',
  restartCount: 0,
  ready: true,
  state: { running: {} },
}

const playOne = async (sweep: Sweep, name: string, dice: Dice): Promise<void> => {
  const url = `${pods}/${name}`
  const metadata = { name }
  const request = { method: 'POST', path: pods, body: { metadata, spec: specOf(dice) } }
  if (!(await sweep.compare({ where: 'Pod', request }))) return
  if (dice.oneIn(5)) {
    const status = { ...runningStatus, ...(dice.oneIn(2) && { resources: {} }) }
    await sweep.prepare({
      method: 'PATCH',
      path: `${url}/status`,
      body: { status: { containerStatuses: [status] } },
      headers: { 'content-type': 'application/merge-patch+json' },
    })
  }
  const current = await ask(sweep.against, { method: 'GET', path: url })
  if (current.code !== 200) return
  const examples = Array.from({ length: 5 }, () => {
    const { spec } = JSON.parse(current.text)
    dice.pick(changes)(spec, dice)
    const resize = { method: 'PUT', path: `${url}/resize?dryRun=All`, body: { metadata, spec } }
    return { where: 'resize', request: resize, before: [request] }
  })
  await sweep.compareAll(examples)
  await remove(sweep, url)
}

const podsAtFullShare = 300

export const resizes: Part = {
  name: 'resizes',
  play: async (sweep, dice) => {
    const count = Math.ceil(podsAtFullShare * sweep.share)
    for (let i = 0; i < count; i++) await playOne(sweep, `resized-${i}`, dice)
  },
}
