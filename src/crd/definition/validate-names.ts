/** Names of a definition: those that it asks for, and those that its status says it has. */
import { child, type FieldError, index, invalid, required } from '#api/field-error.js'
import { isDns1035Label, isKindName } from '#api/names.js'
import type { DefinitionNames } from './definition.js'

/** A spec has every name that its defaults do not make. */
export const validateWantedNames = (names: DefinitionNames): FieldError[] => {
  const path = 'spec.names'
  const missing = (['plural', 'singular', 'kind', 'listKind'] as const).filter((n) => !names[n])
  return [...missing.map((name) => required(child(path, name))), ...validateNames(names, path)]
}

/** Names that are missing are not looked at. */
export const validateNames = (names: DefinitionNames, path: string): FieldError[] => {
  const errors: FieldError[] = []
  const check = (at: string, value: string | undefined, rule: (v: string) => string[]) => {
    const wrong = value ? rule(value) : []
    if (wrong.length > 0) errors.push(invalid(at, value, wrong.join(',')))
  }
  check(child(path, 'plural'), names.plural, isDns1035Label)
  check(child(path, 'singular'), names.singular, isDns1035Label)
  check(child(path, 'kind'), names.kind, isKindName)
  check(child(path, 'listKind'), names.listKind, isKindName)
  const checkEach = (at: string, list: readonly string[] | undefined) => {
    for (const [i, name] of (list ?? []).entries()) {
      const wrong = isDns1035Label(name)
      if (wrong.length > 0) errors.push(invalid(index(at, i), name, wrong.join(',')))
    }
  }
  checkEach(child(path, 'shortNames'), names.shortNames)
  if (names.kind && names.kind === names.listKind)
    errors.push(
      invalid(child(path, 'listKind'), names.listKind, 'kind and listKind may not be the same'),
    )
  checkEach(child(path, 'categories'), names.categories)
  return errors
}
