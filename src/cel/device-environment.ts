/** What selectors of devices may name (kubernetes, dynamic-resource-allocation/cel/compile.go). */
import type { Environment } from '@marcbachmann/cel-js'
import { CompilationError, compileExpression } from './compile.js'
import { ruleEnvironment } from './functions.js'

let environment: Environment | undefined

const deviceEnvironment = (): Environment => {
  if (environment === undefined) {
    environment = ruleEnvironment()
    environment.registerType('DRADevice', {
      fields: {
        driver: 'string',
        allowMultipleAllocations: 'bool',
        attributes: 'map<string, map<string, dyn>>',
        capacity: 'map<string, map<string, kubernetes.Quantity>>',
      },
    })
    environment.registerVariable('device', 'DRADevice')
  }
  return environment
}

/** Why a selector is refused, in upstream's words; nothing if it is taken. The type of an attribute is not known. */
export const deviceSelectorProblem = (text: string): string | undefined => {
  try {
    const { type } = compileExpression(deviceEnvironment(), text)
    if (type === 'bool' || type === 'dyn') return undefined
    const printed = type.replaceAll('<', '(').replaceAll('>', ')')
    return `must evaluate to bool or the unknown type, not ${printed}`
  } catch (error) {
    if (!(error instanceof CompilationError)) throw error
    return error.isUnknownHere ? undefined : error.message
  }
}
