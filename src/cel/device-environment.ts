/** What selectors of devices may name (kubernetes, dynamic-resource-allocation/cel/compile.go). */
import { limits } from '#limits'
import { costOf } from './compile.js'
import { type CompiledText, compileText, type NotCompiled } from './compile-text.js'
import { Environment } from './environment.js'
import type { SizeOfPath } from './estimate-ranges.js'
import { isExactType, mapOf, structType, types, typeText } from './types.js'

const device = 'kubernetes.DRADevice'
const byDomain = (value: typeof types.any) => mapOf(types.string, mapOf(types.string, value))

const environment = Environment.base
  .withTypes({
    [device]: {
      driver: types.string,
      allowMultipleAllocations: types.bool,
      attributes: byDomain(types.any),
      capacity: byDomain(structType('kubernetes.Quantity')),
    },
  })
  .withVariables({ device: structType(device) })
  .withBindings()

/** What the API says of the sizes of a device: maps by domain, of maps by name. */
const sizes: Readonly<Record<string, readonly number[]>> = {
  driver: [63],
  allowMultipleAllocations: [1],
  attributes: [32, 32, 64],
  capacity: [32, 32],
}
const keySizes = [63, 32]

const sizeOfPath: SizeOfPath = ([root, field = '', ...rest]) => {
  if (root !== 'device') return undefined
  if (field === '') return { min: 0n, max: 0n }
  // Attributes have one size whatever their names are; domains are not named by fields.
  if (rest[0] !== undefined && !rest[0].startsWith('@')) return undefined
  const max = rest.at(-1) === '@keys' ? keySizes[rest.length - 1] : sizes[field]?.[rest.length]
  return max === undefined ? undefined : { min: 0n, max: BigInt(max) }
}

interface SelectorProblem {
  readonly text: string
  /** `cost`: the expression is right and costs too much; `internal`: no program can be made of it. */
  readonly kind: 'cost' | 'internal' | 'invalid'
}

/** A device's attribute may be the answer, and its type is not known. */
export const compileDeviceText = (text: string): CompiledText | NotCompiled =>
  compileText(environment, text, (given) =>
    [types.bool, types.any].some((type) => isExactType(type, given))
      ? undefined
      : `must evaluate to bool or the unknown type, not ${typeText(given)}`,
  )

/** Why a selector is refused, in upstream's words; nothing if it is taken. */
export const deviceSelectorProblem = (text: string): SelectorProblem | undefined => {
  const compiled = compileDeviceText(text)
  if ('error' in compiled)
    return { text: compiled.error, kind: compiled.isInternal ? 'internal' : 'invalid' }
  return costOf(compiled, sizeOfPath).max > limits.celDeviceCostMax
    ? { text: 'too complex, exceeds cost limit', kind: 'cost' }
    : undefined
}
