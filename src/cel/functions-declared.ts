/** The declared functions, read from their signatures with the first expression. */
import { type Functions, readDeclarations } from './declarations.js'
import { jsonPatchSignatures, kubernetesSignatures } from './signatures.js'

let kubernetes: Functions | undefined
export const kubernetesFunctions = (): Functions =>
  (kubernetes ??= readDeclarations(...kubernetesSignatures))

let jsonPatch: Functions | undefined
export const jsonPatchFunctions = (): Functions =>
  (jsonPatch ??= readDeclarations(jsonPatchSignatures))
