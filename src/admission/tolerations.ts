/** Compares and merges tolerations (kubernetes, pkg/util/tolerations). */
import type { Toleration } from '#validation/toleration.js'

const isSame = (a: Toleration, b: Toleration): boolean =>
  (a.key ?? '') === (b.key ?? '') &&
  (a.operator ?? '') === (b.operator ?? '') &&
  (a.value ?? '') === (b.value ?? '') &&
  (a.effect ?? '') === (b.effect ?? '') &&
  a.tolerationSeconds === b.tolerationSeconds

/** Whether `wide` tolerates all that `narrow` does. */
const covers = (wide: Toleration, narrow: Toleration): boolean => {
  if (isSame(wide, narrow)) return true
  const isOfAll = !wide.key && wide.operator === 'Exists'
  if ((wide.key ?? '') !== (narrow.key ?? '') && !isOfAll) return false
  if (wide.effect && wide.effect !== narrow.effect) return false
  const { tolerationSeconds: bound } = wide
  if (wide.effect === 'NoExecute' && bound !== undefined) {
    const { tolerationSeconds: seconds } = narrow
    if (seconds === undefined || seconds > bound) return false
  }
  if (wide.operator === 'Exists') return true
  return narrow.operator === 'Equal' && (narrow.value ?? '') === (wide.value ?? '')
}

/** Leaves out those that others cover; of equal ones the first stays. */
export const mergeTolerations = (all: readonly Toleration[]): Toleration[] => {
  const merged: Toleration[] = []
  for (const [i, one] of all.entries()) {
    const isCovered =
      merged.some((other) => covers(other, one)) ||
      all.slice(i + 1).some((other) => !isSame(other, one) && covers(other, one))
    if (!isCovered) merged.push(one)
  }
  return merged
}

/** An empty list allows all. */
export const areAllowed = (
  tolerations: readonly Toleration[],
  allowed: readonly Toleration[],
): boolean =>
  allowed.length === 0 || tolerations.every((one) => allowed.some((wide) => covers(wide, one)))

/** Each replaces those that differ from it only in their seconds; where there is none it comes last. */
export const withTolerations = (
  tolerations: readonly Toleration[],
  added: readonly Toleration[],
): Toleration[] => {
  const textOf = ({ key = '', operator = '', value = '', effect = '' }: Toleration): string =>
    JSON.stringify([key, operator, value, effect])
  const left = new Map(added.map((one) => [textOf(one), one]))
  const kept = tolerations.map((one) => left.get(textOf(one)) ?? one)
  for (const one of tolerations) left.delete(textOf(one))
  return [...kept, ...left.values()]
}
