/** Compares and merges tolerations (kubernetes, pkg/util/tolerations). */
import { goQuote } from '#go/quote.js'
import type { Toleration } from '#validation/toleration.js'

const textOf = ({ key, operator, value, effect, tolerationSeconds }: Toleration): string =>
  [key, operator, value, effect, tolerationSeconds].map((field = '') => goQuote(`${field}`)).join()

const holdsAsLong = (a: Toleration, b: Toleration): boolean =>
  a.tolerationSeconds === undefined ||
  (b.tolerationSeconds !== undefined && a.tolerationSeconds >= b.tolerationSeconds)

/** Whether `wide`, another one, tolerates all that `narrow` does. */
const covers = (wide: Toleration, narrow: Toleration): boolean => {
  const isOfAll = !wide.key && wide.operator === 'Exists'
  if ((wide.key ?? '') !== (narrow.key ?? '') && !isOfAll) return false
  if (wide.effect && wide.effect !== narrow.effect) return false
  if (wide.effect === 'NoExecute' && !holdsAsLong(wide, narrow)) return false
  if (wide.operator === 'Exists') return true
  const isOfValue = !wide.operator || wide.operator === 'Equal'
  return isOfValue && narrow.operator === 'Equal' && (narrow.value ?? '') === (wide.value ?? '')
}

const groupOf = ({ key = '', operator = '', value = '', effect = '' }: Toleration): string =>
  [operator, key, effect, operator === 'Exists' ? '' : value].map(goQuote).join()

/** Those that may tolerate all that another does: of many that differ in their seconds alone the longest, so that a Pod may have thousands. */
class Longest {
  readonly #byGroup = new Map<string, Toleration>()

  constructor(all: readonly Toleration[]) {
    for (const one of all) {
      const group = groupOf(one)
      const known = this.#byGroup.get(group)
      if (known === undefined || holdsAsLong(one, known)) this.#byGroup.set(group, one)
    }
  }

  /** Whether one of them, other than this, tolerates all that this does. */
  cover(one: Toleration): boolean {
    const { key = '', operator, value = '', effect = '' } = one
    const operators = operator === 'Equal' ? ['Equal', ''] : []
    return [effect, ''].some((effect) =>
      [
        { operator: 'Exists', key, effect },
        { operator: 'Exists', effect },
        ...operators.map((operator) => ({ operator, key, effect, value })),
      ].some((asked) => {
        const found = this.#byGroup.get(groupOf(asked))
        return found !== undefined && found !== one && covers(found, one)
      }),
    )
  }
}

/** Leaves out those that others cover; of equal ones the first stays. */
export const mergeTolerations = (all: readonly Toleration[]): Toleration[] => {
  const distinct = new Map<string, Toleration>()
  for (const one of all) {
    const text = textOf(one)
    if (!distinct.has(text)) distinct.set(text, one)
  }
  const merged = [...distinct.values()]
  const longest = new Longest(merged)
  return merged.filter((one) => !longest.cover(one))
}

/** An empty list allows all. */
export const areAllowed = (
  tolerations: readonly Toleration[],
  allowed: readonly Toleration[],
): boolean => {
  const texts = new Set(allowed.map(textOf))
  const longest = new Longest(allowed)
  return (
    allowed.length === 0 || tolerations.every((one) => texts.has(textOf(one)) || longest.cover(one))
  )
}

/** Each replaces those that differ from it only in their seconds; where there is none it comes last. */
export const withTolerations = (
  tolerations: readonly Toleration[],
  added: readonly Toleration[],
): Toleration[] => {
  const asked = ({ key, operator, value, effect }: Toleration): string =>
    textOf({ key, operator, value, effect })
  const left = new Map(added.map((one) => [asked(one), one]))
  const kept = tolerations.map((one) => left.get(asked(one)) ?? one)
  for (const one of tolerations) left.delete(asked(one))
  return [...kept, ...left.values()]
}
