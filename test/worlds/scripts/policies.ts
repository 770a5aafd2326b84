/** ValidatingAdmissionPolicies whose expressions do not always fit what they are for: what their status says of it. */
import { isAlreadyExists } from '#client/errors.js'
import { type ResourceRef, resources } from '#client/resources.js'
import { type Dice, given } from '../../dice.js'
import { type Act, change, create, remove, type Step, slowly, step } from '../script.js'
import { between } from './pieces.js'

/** Upstream looks every half minute for kinds that are new, so these stay for all scripts. */
const quietMs = 4_000
const group = 'policies.example.com'
const widget = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: {
        size: { type: 'integer' },
        share: { type: 'number' },
        port: { 'x-kubernetes-int-or-string': true },
        any: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
        labels: { type: 'object', additionalProperties: { type: 'string' } },
        when: { type: 'string', format: 'date-time' },
        long: { type: 'string', format: 'duration' },
        bytes: { type: 'string', format: 'byte' },
        parts: {
          type: 'array',
          items: {
            type: 'object',
            properties: { name: { type: 'string' }, 'odd-name': { type: 'string' } },
          },
        },
      },
    },
  },
}
const definitions: ResourceRef = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  resource: 'customresourcedefinitions',
  kind: 'CustomResourceDefinition',
  namespaced: false,
}
const definition: Act = ({ client }) =>
  client
    .create(definitions, {
      metadata: { name: `widgets.${group}` },
      spec: {
        group,
        scope: 'Namespaced',
        names: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
        versions: [
          { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: widget } },
        ],
      },
    })
    .catch((error: unknown) => {
      if (!isAlreadyExists(error)) throw error
    })

const fields = [
  ...['spec.replicas', 'spec.containers', 'spec.template.spec.containers', 'metadata.labels'],
  ...['spec.ports', 'spec.selector', 'spec.selector.matchLabels', 'data', 'metadata.name', 'kind'],
  ...['spec.size', 'spec.share', 'spec.port', 'spec.any', 'spec.any.deep', 'spec.parts', 'spec'],
  ...['spec.when', 'spec.long', 'spec.bytes', 'spec.nothing', 'status', 'status.conditions'],
  ...['metadata.creationTimestamp', 'metadata.annotations["a"]', 'metadata.ownerReferences[0].uid'],
  ...['spec.parts[0].odd__dash__name', 'spec.ports[0].targetPort', 'spec.strategy', 'immutable'],
  ...['spec.template.spec.containers[0].resources.limits["cpu"]', 'spec.volumes[0].csi.driver'],
  ...['spec.containers[0].livenessProbe.httpGet.port', 'spec.completions', 'metadata.nothing'],
  ...['spec.containers[0].env.map(e, e.name)', 'apiVersion', 'binaryData', 'metadata.generation'],
]
const roots = ['object', 'object', 'object', 'oldObject', 'params', 'variables', 'variables.first']

const field = (dice: Dice): string => `${dice.pick(roots)}.${dice.pick(fields)}`

const literal = (dice: Dice): string =>
  dice.pick(['1', '"a"', '2.5', 'true', 'null', '["a"]', '{"a": 1}', '1u', 'b"a"', 'quantity("1")'])

const operator = (dice: Dice): string => dice.pick(['==', '!=', '<', '>=', '+', 'in', '&&'])

/** Of what they are asked, most give no truth. */
const terms: ((dice: Dice) => string)[] = [
  (dice) => `${field(dice)} ${operator(dice)} ${literal(dice)}`,
  (dice) => `${field(dice)} ${operator(dice)} ${literal(dice)}`,
  (dice) => `${field(dice)} ${operator(dice)} ${field(dice)}`,
  (dice) => `has(${field(dice).replace(/\[[^\]]*\]$/, '')})`,
  (dice) => `!${field(dice)}`,
  (dice) => `size(${field(dice)}) > 0`,
  (dice) => `${field(dice)}.size() == 1`,
  (dice) =>
    `${field(dice)}.${dice.pick(['all', 'exists', 'exists_one'])}(x, x == ${literal(dice)})`,
  (dice) => `${field(dice)}.all(c, c.${dice.pick(['image', 'name', 'imag', 'port'])} != "")`,
  (dice) => `${field(dice)}.filter(c, has(c.name)).map(c, c.name).join(",") == "a"`,
  (dice) => `${field(dice)}.startsWith("a")`,
  (dice) => `${field(dice)}.matches("a+")`,
  (dice) => `${field(dice)}.isGreaterThan(quantity("1"))`,
  (dice) => `object.?spec.?${dice.pick(['replicas', 'foo', 'size'])}.orValue(1) > 1`,
  (dice) =>
    `request.${dice.pick(['userInfo.username', 'name', 'nothing', 'kind.kind', 'options.x'])} == "a"`,
  (dice) => `request.${dice.pick(['dryRun', 'operation', 'userInfo.groups', 'object'])}`,
  (dice) =>
    `namespaceObject.metadata.${dice.pick(['labels["a"]', 'name', 'nothing', 'finalizers'])} == "a"`,
  (dice) =>
    `authorizer.group("apps").resource("deployments").check(${dice.pick(['"get"', '1'])}).${dice.pick(['allowed()', 'reason()', 'nothing()'])}`,
  (dice) => `variables.${dice.pick(['first', 'second', 'third'])} == ${literal(dice)}`,
  (dice) => `type(${field(dice)}) == ${dice.pick(['int', 'string', 'map'])}`,
  (dice) => `${field(dice)}.getFullYear() > 2000`,
  (dice) => `[${field(dice)}, ${literal(dice)}].size() > 1`,
  (dice) => `(${literal(dice)} == ${literal(dice)}) ? ${field(dice)} == "a" : ${field(dice)}`,
  (dice) => `ip(${field(dice)}).family() == 4`,
  (dice) => `url(${field(dice)}).getHost() == "a"`,
  (dice) => `string(${field(dice)}) == "a"`,
  (dice) => `int(${field(dice)}) == 1`,
]
const term = (dice: Dice): string => dice.pick(terms)(dice)
const expression = (dice: Dice): string => {
  const one = term(dice)
  return dice.pick([one, one, `${one}\n  && ${term(dice)}`, `${one} || ${term(dice)}`])
}
const message = (dice: Dice): string =>
  dice.pick([
    `"size " + string(${field(dice)})`,
    `${field(dice)}`,
    `"é" + ${field(dice)}`,
    `${term(dice)}`,
  ])

const rule = (dice: Dice): object =>
  dice.pick([
    { apiGroups: ['apps'], apiVersions: ['v1'], resources: ['deployments'] },
    { apiGroups: ['apps'], apiVersions: ['v1'], resources: ['statefulsets', 'daemonsets'] },
    { apiGroups: [''], apiVersions: ['v1'], resources: ['pods', 'pods/status'] },
    { apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps', 'services', 'nodes'] },
    { apiGroups: ['batch'], apiVersions: ['v1'], resources: ['jobs', 'cronjobs'] },
    { apiGroups: [group], apiVersions: ['v1'], resources: ['widgets'] },
    {
      apiGroups: [group, 'apps'],
      apiVersions: ['v1', 'v2'],
      resources: ['widgets', 'deployments'],
    },
    { apiGroups: ['*'], apiVersions: ['v1'], resources: ['pods'] },
    { apiGroups: [''], apiVersions: ['v1'], resources: ['*'] },
    { apiGroups: ['gone.example.com'], apiVersions: ['v1'], resources: ['things'] },
    { apiGroups: ['networking.k8s.io'], apiVersions: ['v1'], resources: ['ingresses'] },
    {
      apiGroups: ['apiextensions.k8s.io'],
      apiVersions: ['v1'],
      resources: ['customresourcedefinitions'],
    },
  ])

const spec = (dice: Dice): object =>
  given({
    paramKind: dice.pick([
      undefined,
      undefined,
      { apiVersion: 'v1', kind: 'ConfigMap' },
      { apiVersion: 'apps/v1', kind: 'Deployment' },
      { apiVersion: `${group}/v1`, kind: 'Widget' },
      { apiVersion: 'gone.example.com/v1', kind: 'Thing' },
    ]),
    matchConstraints: {
      resourceRules: Array.from({ length: between(dice, 1, 3) }, () => ({
        operations: ['CREATE', 'UPDATE'],
        ...rule(dice),
      })),
    },
    matchConditions: dice.maybe(() => [{ name: 'one', expression: 'object.nothing == 1' }], 4),
    variables: ['first', 'second']
      .slice(0, dice.below(3))
      .map((name) => ({ name, expression: dice.pick([field, literal, term])(dice) })),
    validations: Array.from({ length: between(dice, 1, 3) }, () =>
      given({
        expression: expression(dice),
        message: dice.maybe(() => 'no', 3),
        messageExpression: dice.maybe(() => message(dice), 3),
        reason: dice.maybe(() => 'Forbidden', 4),
      }),
    ),
    auditAnnotations: dice.maybe(() => [{ key: 'k', valueExpression: field(dice) }], 4),
  })

const policies = resources.validatingAdmissionPolicies
/** One that is refused is told by its answer. */
const several = (dice: Dice, first: number): Step =>
  slowly(
    step(
      'policies',
      ...Array.from({ length: 8 }, (_, i) =>
        create(policies, { metadata: { name: `p${first + i}` }, spec: spec(dice) }),
      ),
    ),
    quietMs,
  )

export const policiesScript = (dice: Dice): Step[] => [
  step('a definition', definition),
  several(dice, 0),
  several(dice, 8),
  step(
    'another spec',
    ...['p0', 'p1', 'p2', 'p3'].map((name) => change(policies, name, { spec: spec(dice) })),
  ),
  step('without them', ...['p0', 'p9'].map((name) => remove(policies, name))),
]
