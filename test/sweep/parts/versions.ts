/** Definitions of several versions that change while their resources are written through one and read through another. */
import type { Dice } from '../../dice.js'
import { given } from '../../dice.js'
import { remove } from '../subjects.js'
import { namespace, type Part, type Sweep } from '../sweep.js'
import { type Request, typed } from '../target.js'
import { type Move, patchOf, playMoves } from './moves.js'
import { type RandomSchema, randomSchema, randomValue } from './random-schemas.js'
import { definitions, kindOf, until } from './served.js'

const group = 'versions.sweep.example.com'
const names = ['v1', 'v2beta1', 'v1alpha1']

interface Version {
  readonly name: string
  readonly spec: RandomSchema
  readonly isServed: boolean
  readonly subresources?: object
  readonly columns: readonly object[]
  readonly selectableFields?: readonly object[]
}

interface Definition {
  readonly plural: string
  readonly scope: string
  readonly versions: readonly Version[]
  readonly stored: string
}

/** The others have some fields of the first, and some of their own. */
const mixed = (first: RandomSchema, dice: Dice): RandomSchema => {
  const own = randomSchema(dice)
  const [a, b] = [first, own].map(({ properties }) => properties as object | undefined)
  return { ...own, properties: Object.fromEntries(dice.some(Object.entries({ ...b, ...a }))) }
}

const columns = [
  { name: 'A', type: 'string', jsonPath: '.spec.a' },
  { name: 'B', type: 'integer', jsonPath: '.spec.b', priority: 1 },
  { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  { name: 'All', type: 'string', jsonPath: '.spec' },
]
const scale = {
  specReplicasPath: '.spec.replicas',
  statusReplicasPath: '.status.replicas',
  labelSelectorPath: '.status.selector',
}

const versionOf = (name: string, spec: RandomSchema, dice: Dice): Version => ({
  name,
  spec,
  isServed: !dice.oneIn(6),
  columns: dice.some(columns),
  ...given({
    subresources: dice.maybe(() =>
      given({ status: dice.maybe(() => ({})), scale: dice.maybe(() => scale) }),
    ),
  }),
})

const randomDefinition = (plural: string, dice: Dice): Definition => {
  const first = randomSchema(dice)
  const versions = names
    .slice(0, 2 + dice.below(2))
    .map((name, i) => versionOf(name, i === 0 ? first : mixed(first, dice), dice))
  return {
    plural,
    scope: dice.pick(['Namespaced', 'Namespaced', 'Cluster']),
    versions,
    stored: dice.pick(versions).name,
  }
}

const statusSchema = {
  type: 'object',
  properties: {
    replicas: { type: 'integer' },
    selector: { type: 'string' },
    free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
  },
}

/** The sign is a column, which tells that this form of the definition is in force. */
const bodyOf = ({ plural, scope, versions, stored }: Definition, sign: string): object => ({
  metadata: { name: `${plural}.${group}` },
  spec: {
    group,
    scope,
    names: { plural, kind: kindOf(plural) },
    versions: versions.map(({ name, spec, isServed, columns, subresources }) => ({
      name,
      served: isServed,
      storage: name === stored,
      schema: {
        openAPIV3Schema: {
          type: 'object',
          properties: {
            spec: {
              ...spec,
              properties: { replicas: { type: 'integer' }, ...(spec.properties as object) },
            },
            status: statusSchema,
          },
        },
      },
      additionalPrinterColumns: [...columns, { name: sign, type: 'string', jsonPath: '.kind' }],
      ...given({ subresources }),
    })),
  },
})

const collectionOf = ({ plural, scope }: Definition, version: string): string =>
  `/apis/${group}/${version}${scope === 'Cluster' ? '' : `/namespaces/${namespace}`}/${plural}`

const table = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' }

const awaitSign = async (sweep: Sweep, definition: Definition, sign: string): Promise<void> => {
  for (const { name, isServed } of definition.versions) {
    const request = { method: 'GET', path: collectionOf(definition, name), headers: table }
    await until(sweep, request, ({ code, text }) =>
      isServed ? text.includes(`"${sign}"`) : code === 404,
    )
  }
}

const objectName = 'one'

const moveOf = (definition: Definition, dice: Dice): Move => {
  const { pick, oneIn } = dice
  const { name: version, spec } = pick(definition.versions)
  const apiVersion = `${group}/${version}`
  const kind = kindOf(definition.plural)
  const collection = collectionOf(definition, version)
  const url = `${collection}/${objectName}`
  const manager = `fieldManager=${pick(['m1', 'm2'])}`
  const strict = `fieldValidation=${pick(['Strict', 'Warn', 'Ignore'])}`
  const value = randomValue(spec, dice)
  const whole = given({
    apiVersion,
    kind,
    metadata: given({ name: objectName, labels: dice.maybe(() => ({ l: pick(['1', '2']) })) }),
    spec: value,
    status: dice.maybe(() => ({ replicas: dice.below(3), free: { x: 1 } }), 3),
  })
  const suffix = pick(['', '', '', '/status'])
  return pick<() => Move>([
    () => () => ({ method: 'POST', path: `${collection}?${manager}&${strict}`, body: whole }),
    () => () => ({ method: 'POST', path: `${collection}?${manager}&${strict}`, body: whole }),
    () =>
      patchOf(`${url}${suffix}?${manager}&${strict}&force=${oneIn(2)}`, 'apply-patch+yaml', whole),
    () => patchOf(`${url}${suffix}?${manager}&${strict}&force=true`, 'apply-patch+yaml', whole),
    () => patchOf(`${url}${suffix}?${manager}&${strict}`, 'merge-patch+json', { spec: value }),
    () =>
      patchOf(`${url}/status?${manager}`, 'merge-patch+json', {
        status: { replicas: dice.below(4), selector: 'a=b' },
      }),
    () =>
      patchOf(`${url}?${manager}`, 'json-patch+json', [
        {
          op: pick(['add', 'replace', 'test', 'remove']),
          path: `/spec/${pick(['a', 'b', 'c'])}`,
          value: pick([1, 'a', null]),
        },
      ]),
    () =>
      patchOf(`${url}/scale?${manager}`, 'merge-patch+json', { spec: { replicas: dice.below(5) } }),
    () =>
      ({ metadata }) => ({
        method: 'PUT',
        path: `${url}${suffix}?${manager}&${strict}`,
        body: { ...whole, metadata: { ...metadata, labels: { l: '3' } } },
      }),
    () => () => ({ method: 'GET', path: url }),
    () => () => ({ method: 'GET', path: `${url}/scale` }),
    () => {
      const headers = pick([table, {}])
      return () => ({ method: 'GET', path: collection, headers })
    },
    () => () => ({ method: 'DELETE', path: url }),
  ])()
}

const changed = (definition: Definition, dice: Dice): Definition => {
  const { versions } = definition
  const touched = dice.pick(versions)
  const next = versions.map((one) =>
    one === touched
      ? versionOf(one.name, dice.oneIn(2) ? one.spec : mixed(one.spec, dice), dice)
      : one,
  )
  return {
    ...definition,
    versions: next,
    stored: dice.oneIn(2) ? dice.pick(next).name : definition.stored,
  }
}

const forms = 4
const movesInEach = 14

/** Made or changed on both servers, in force; or refused by both, or by one. */
const define = async (sweep: Sweep, definition: Definition, sign: string): Promise<boolean> => {
  const body = bodyOf(definition, sign)
  const path = `${definitions}/${definition.plural}.${group}`
  const isThere = sign !== 'S0'
  const request: Request = isThere
    ? { method: 'PATCH', path, body, headers: typed('merge-patch+json') }
    : { method: 'POST', path: definitions, body }
  const answers = await sweep.prepare(request)
  const { server, against } = answers
  if (server.code >= 400 || against.code >= 400) {
    if (server.code !== against.code) sweep.note({ where: 'definition', request }, answers)
    return false
  }
  await awaitSign(sweep, definition, sign)
  return true
}

const triesMax = 30

/** A definition that both accept: many are odd. */
const defineFirst = async (sweep: Sweep, plural: string, dice: Dice) => {
  for (let tries = 0; tries < triesMax; tries++) {
    const definition = randomDefinition(plural, dice)
    if (await define(sweep, definition, 'S0')) return definition
  }
  return undefined
}

const playOne = async (sweep: Sweep, plural: string, dice: Dice): Promise<void> => {
  let definition = await defineFirst(sweep, plural, dice)
  for (let form = 0; form < forms && definition !== undefined; form++) {
    const next = form === 0 ? definition : changed(definition, dice)
    if (form > 0 && !(await define(sweep, next, `S${form}`))) continue
    definition = next
    const shown = next.versions.find(({ isServed }) => isServed)
    if (shown === undefined) continue
    const url = `${collectionOf(next, shown.name)}/${objectName}`
    const moves = Array.from({ length: movesInEach }, () => moveOf(next, dice))
    const body = bodyOf(next, `S${form}`)
    const before = [{ method: 'POST', path: definitions, body }]
    await playMoves(sweep, { before, kind: `form ${form}`, name: objectName, url }, moves)
  }
  await remove(sweep, `${definitions}/${plural}.${group}`)
}

const playedAtFullShare = 200

export const versions: Part = {
  name: 'versions',
  play: async (sweep, dice) => {
    const count = Math.ceil(playedAtFullShare * sweep.share)
    for (let i = 0; i < count; i++) await playOne(sweep, `w${sweep.seed}x${i}s`, dice)
  },
}
