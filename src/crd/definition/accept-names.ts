/**
 * Whether a definition gets the names that it asks for, against the other definitions of its group (apiextensions'
 * naming controller). Names that it has already stay its own.
 */
import { conditionOf } from '#api/conditions.js'
import { aggregate } from '#go/aggregate.js'
import { jsonEqual } from '#json/object.js'
import { caBundleProblem } from './ca-bundle.js'
import type {
  CustomResourceDefinition,
  DefinitionCondition,
  DefinitionNames,
} from './definition.js'

interface NamesDecision {
  readonly acceptedNames: DefinitionNames
  readonly namesAccepted: DefinitionCondition | undefined
  readonly established: DefinitionCondition | undefined
}

const inUse = (name: string) => `${JSON.stringify(name)} is already in use`

/** `ofGroup`: all definitions of its group, itself among them: what it has as one name it cannot take as another. */
export const decideNames = (
  definition: CustomResourceDefinition,
  ofGroup: () => readonly CustomResourceDefinition[],
): NamesDecision => {
  const requested = definition.spec.names
  const own = definition.status?.acceptedNames
  // A definition that has the names keeps them without a check, even if somebody removed the conditions.
  if (jsonEqual(requested, own)) return establish(definition)
  const accepted: DefinitionNames = { ...own } as DefinitionNames
  const taken = ofGroup()
    .map((o) => o.status?.acceptedNames)
    .filter((names) => names !== undefined)
  const resources = new Set(taken.flatMap((n) => [n.plural, n.singular, ...(n.shortNames ?? [])]))
  const kinds = new Set(taken.flatMap((n) => [n.kind, n.listKind]))
  let problem: { reason: string; message: string } | undefined
  const claim = (
    key: 'plural' | 'singular' | 'kind' | 'listKind',
    used: ReadonlySet<string | undefined>,
    reason: string,
  ) => {
    const name = requested[key] ?? ''
    if (name !== own?.[key] && used.has(name)) problem = { reason, message: inUse(name) }
    else accepted[key] = name
  }
  claim('plural', resources, 'PluralConflict')
  claim('singular', resources, 'SingularConflict')
  const blocked = (requested.shortNames ?? []).filter(
    (name) => resources.has(name) && !own?.shortNames?.includes(name),
  )
  if (blocked.length > 0)
    problem = { reason: 'ShortNamesConflict', message: aggregate(blocked.map(inUse))! }
  else setOrDelete(accepted, 'shortNames', requested.shortNames)
  claim('kind', kinds, 'KindConflict')
  claim('listKind', kinds, 'ListKindConflict')
  setOrDelete(accepted, 'categories', requested.categories)
  return { acceptedNames: inOrder(accepted), ...conditionsFor(definition, problem) }
}

const setOrDelete = (
  names: DefinitionNames,
  key: 'shortNames' | 'categories',
  value: string[] | undefined,
): void => {
  if (value === undefined || value.length === 0) delete names[key]
  else names[key] = value
}

const inOrder = (n: DefinitionNames): DefinitionNames => ({
  plural: n.plural ?? '',
  ...(n.singular ? { singular: n.singular } : {}),
  ...(n.shortNames ? { shortNames: n.shortNames } : {}),
  kind: n.kind ?? '',
  ...(n.listKind ? { listKind: n.listKind } : {}),
  ...(n.categories ? { categories: n.categories } : {}),
})

const conditionsFor = (
  definition: CustomResourceDefinition,
  problem: { reason: string; message: string } | undefined,
): Pick<NamesDecision, 'namesAccepted' | 'established'> => {
  const namesAccepted: DefinitionCondition =
    problem === undefined
      ? {
          type: 'NamesAccepted',
          status: 'True',
          reason: 'NoConflicts',
          message: 'no conflicts found',
        }
      : { type: 'NamesAccepted', status: 'False', ...problem }
  const before = conditionOf(definition, 'Established')
  if (before?.status === 'True') return { namesAccepted, established: before }
  // Two writes, as of two controllers upstream: the names are installed first, then the definition is established.
  const established: DefinitionCondition =
    problem === undefined
      ? {
          type: 'Established',
          status: 'False',
          reason: 'Installing',
          message: 'the initial names have been accepted',
        }
      : {
          type: 'Established',
          status: 'False',
          reason: 'NotAccepted',
          message: 'not all names are accepted',
        }
  return { namesAccepted, established }
}

/** What becomes of a definition that has its names (apiextensions' establishing controller). */
const establish = (definition: CustomResourceDefinition): NamesDecision => {
  const { acceptedNames } = definition.status!
  const namesAccepted = conditionOf(definition, 'NamesAccepted')
  const before = conditionOf(definition, 'Established')
  if (namesAccepted?.status !== 'True' || before?.status === 'True')
    return { acceptedNames, namesAccepted, established: before }
  const established: DefinitionCondition =
    caBundleProblem(definition) === undefined
      ? {
          type: 'Established',
          status: 'True',
          reason: 'InitialNamesAccepted',
          message: 'the initial names have been accepted',
        }
      : {
          type: 'Established',
          status: 'False',
          reason: 'InvalidCABundle',
          message: 'The conversion webhook CABundle is invalid',
        }
  return { acceptedNames, namesAccepted, established }
}
