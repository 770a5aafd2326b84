/** Labels of nodes that nobody should select by any more (kubernetes, pkg/api/node/util.go). Texts for Warning headers. */
import { child, index } from '#api/field-error.js'
import { isLabelValue } from '#api/names.js'
import type { Fields } from '#api/object.js'
import { getOwn } from '#json/object.js'

const since14 = (name: string): string =>
  `deprecated since v1.14; use "kubernetes.io/${name}" instead`
const since17 = (name: string): string => `deprecated since v1.17; use "${name}" instead`

const deprecatedLabels: Readonly<Record<string, string>> = {
  'beta.kubernetes.io/arch': since14('arch'),
  'beta.kubernetes.io/os': since14('os'),
  'beta.kubernetes.io/instance-type': since17('node.kubernetes.io/instance-type'),
  'failure-domain.beta.kubernetes.io/region': since17('topology.kubernetes.io/region'),
  'failure-domain.beta.kubernetes.io/zone': since17('topology.kubernetes.io/zone'),
  'app.kubernetes.io/created-by': 'deprecated since v1.9',
  'scheduler.alpha.kubernetes.io/preferAvoidPods':
    'deprecated since v1.22; use Taints and Tolerations instead',
  'node-role.kubernetes.io/master': 'use "node-role.kubernetes.io/control-plane" instead',
}

/** Where a label is the value of a field. */
export const labelWarning = (path: string, label: string): string[] => {
  const text = getOwn(deprecatedLabels, label)
  return text === undefined ? [] : [`${path}: ${label} is ${text}`]
}

/** Where the path names the label, or need not. */
export const bareLabelWarning = (path: string, label: string): string[] => {
  const text = getOwn(deprecatedLabels, label)
  return text === undefined ? [] : [`${path}: ${text}`]
}

const keyWarnings = (path: string, expressions: Fields[] | undefined): string[] =>
  (expressions ?? []).flatMap(({ key }, i) =>
    labelWarning(child(index(child(path, 'matchExpressions'), i), 'key'), key),
  )

/** A label selector of nodes. */
export const nodeSelectorWarnings = (path: string, selector: Fields | undefined): string[] => [
  ...keyWarnings(path, selector?.matchExpressions),
  ...Object.keys(selector?.matchLabels ?? {}).flatMap((label) =>
    bareLabelWarning(child(path, 'matchLabels', label), label),
  ),
]

/** A term of a node affinity. Values of preferences are not validated, so they are told of here. */
export const nodeTermWarnings = (
  path: string,
  term: Fields | undefined,
  { areValuesChecked }: { areValuesChecked: boolean },
): string[] =>
  ((term?.matchExpressions ?? []) as Fields[]).flatMap(({ key, values = [] }, i) => {
    const at = index(child(path, 'matchExpressions'), i)
    return [
      ...labelWarning(child(at, 'key'), key),
      ...(areValuesChecked ? (values as string[]) : []).flatMap((value, j) =>
        isLabelValue(value).map(
          (message) => `${index(child(at, 'values'), j)}: ${value} is invalid, ${message}`,
        ),
      ),
    ]
  })
