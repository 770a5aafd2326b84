/** What match conditions of authorization webhooks may name (apiserver, pkg/authorization/cel/compile.go). */
import { once } from '#async/once.js'
import { Environment } from './environment.js'
import { listOf, mapOf, structType, types } from './types.js'

const { string } = types
const strings = listOf(string)
const selector = {
  rawSelector: string,
  requirements: listOf(structType('kubernetes.SelectorRequirement')),
}

export const authorizationEnvironment = once(() =>
  Environment.base
    .withTypes({
      'kubernetes.SelectorRequirement': { key: string, operator: string, values: strings },
      'kubernetes.FieldSelectorAttributes': selector,
      'kubernetes.LabelSelectorAttributes': selector,
      'kubernetes.ResourceAttributes': {
        namespace: string,
        verb: string,
        group: string,
        version: string,
        resource: string,
        subresource: string,
        name: string,
        fieldSelector: structType('kubernetes.FieldSelectorAttributes'),
        labelSelector: structType('kubernetes.LabelSelectorAttributes'),
      },
      'kubernetes.NonResourceAttributes': { path: string, verb: string },
      'kubernetes.SubjectAccessReviewSpec': {
        resourceAttributes: structType('kubernetes.ResourceAttributes'),
        nonResourceAttributes: structType('kubernetes.NonResourceAttributes'),
        user: string,
        groups: strings,
        extra: mapOf(string, strings),
        uid: string,
      },
    })
    .withVariables({ request: structType('kubernetes.SubjectAccessReviewSpec') }),
)
