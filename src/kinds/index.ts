/** Every kind with behaviour of its own, one line a file. A kind without any is a row of facts (openapi/data). */
import type { KindDefinition } from '#registry/resource-definition.js'
import pod from './core/pod.js'

export const kinds: readonly KindDefinition[] = [pod]
