/**
 * The paths of an OpenAPI document as kube-openapi writes them (pkg/builder, pkg/builder3): what all operations of a path
 * take stands at the path, and what many operations take stands once, by a name with a hash (parameters.go).
 */
import { compareTexts } from '#go/compare-texts.js'
import { mapValues } from '#json/entries.js'
import { escapeHtml } from '#json/json.js'
import type { JsonObject, JsonValue } from '#json/value.js'

const methods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch'] as const

interface Parameter extends JsonObject {
  readonly name: string
  readonly in: string
}

/** In which form operations and parameters of a version are written. */
interface Form {
  readonly operation: readonly string[]
  readonly gvk: readonly string[]
  readonly parameter: (given: Parameter, method: string) => Parameter
  readonly response: (given: JsonObject) => JsonObject
}

/** Those of the fields that the object has, in this order. */
const pick = (object: JsonObject, fields: readonly string[]): JsonObject =>
  Object.fromEntries(
    fields.flatMap((field) => (object[field] === undefined ? [] : [[field, object[field]]])),
  )

const extensionsOf = (operation: JsonObject): string[] =>
  Object.keys(operation)
    .filter((field) => field.startsWith('x-'))
    .sort()

const required = (isRequired: boolean): JsonObject => (isRequired ? { required: true } : {})

/** A response's schema says nothing besides its type. */
const bare = ({ description: _, ...schema }: JsonObject): JsonObject => schema

const v2: Form = {
  operation: [
    ...['description', 'consumes', 'produces', 'schemes', 'tags', 'operationId'],
    ...['parameters', 'responses'],
  ],
  gvk: ['group', 'kind', 'version'],
  parameter: (given, method) => {
    const { name, in: place, schema, type, description, uniqueItems } = given
    if (place === 'body')
      return { name, in: place, ...required(method !== 'delete'), schema: schema! }
    const text: JsonObject = description === undefined ? {} : { description }
    const isRequired = given.required === true
    return {
      uniqueItems: uniqueItems!,
      type: type!,
      ...text,
      name,
      in: place,
      ...required(isRequired),
    }
  },
  response: ({ description, schema }) => ({
    description: description!,
    ...(schema === undefined ? {} : { schema: bare(schema as JsonObject) }),
  }),
}

const contentOf = (content: JsonValue | undefined): JsonObject =>
  Object.fromEntries(
    Object.entries((content ?? {}) as Record<string, JsonObject>)
      .sort(([a], [b]) => compareTexts(a, b))
      .map(([type, { schema }]) => [type, { schema: bare(schema as JsonObject) }]),
  )

const v3: Form = {
  operation: ['tags', 'description', 'operationId', 'parameters', 'requestBody', 'responses'],
  gvk: ['group', 'version', 'kind'],
  parameter: (given) => {
    const { name, in: place, description, schema } = given
    const text: JsonObject = description === undefined ? {} : { description }
    const shape = pick(schema as JsonObject, ['type', 'uniqueItems'])
    return { name, in: place, ...text, ...required(given.required === true), schema: shape }
  },
  response: ({ description, content }) => ({
    description: description!,
    ...(content === undefined ? {} : { content: contentOf(content) }),
  }),
}

const byName = (a: Parameter, b: Parameter): number =>
  compareTexts(a.name, b.name) || compareTexts(a.in, b.in)

const writtenOperation = (given: JsonObject, method: string, form: Form): JsonObject => {
  const { parameters = [], requestBody, responses, operationId } = given
  const gvk = given['x-kubernetes-group-version-kind'] as JsonObject | undefined
  const body = requestBody as JsonObject | undefined
  const operation: JsonObject = {
    ...given,
    // @fastify/swagger marks the ids of HEAD so.
    operationId: String(operationId).replace(/-head$/, ''),
    schemes: ['https'],
    parameters: (parameters as Parameter[]).map((one) => form.parameter(one, method)).sort(byName),
    responses: mapValues(responses as Record<string, JsonObject>, (one) => form.response(one)),
    ...(body && {
      requestBody: { content: contentOf(body.content), ...required(method !== 'delete') },
    }),
    ...(gvk && { 'x-kubernetes-group-version-kind': pick(gvk, form.gvk) }),
  }
  return pick(operation, [...form.operation, ...extensionsOf(operation)])
}

/** What every operation takes is taken from each and put at the path. */
const shareInPath = (item: JsonObject): JsonObject => {
  const operations = Object.entries(item) as [string, { parameters: Parameter[] }][]
  const lists = operations.map(([, { parameters }]) => parameters)
  const takes = (list: Parameter[], { name, in: place }: Parameter): boolean =>
    place !== 'body' && list.some((other) => other.name === name && other.in === place)
  const common = lists[0]!.filter((parameter) => lists.every((list) => takes(list, parameter)))
  const shared: JsonObject = {}
  for (const [method, { parameters, ...operation }] of operations) {
    const own = parameters.filter((parameter) => !takes(common, parameter))
    const written = own.length === 0 ? operation : { ...operation, parameters: own }
    shared[method] = pick(written, Object.keys(item[method] as JsonObject))
  }
  return common.length === 0 ? shared : { ...shared, parameters: common }
}

const written = (paths: JsonObject, form: Form): Record<string, JsonObject> =>
  Object.fromEntries(
    Object.entries(paths as Record<string, JsonObject>)
      .sort(([a], [b]) => compareTexts(a, b))
      .map(([path, item]) => [
        path,
        shareInPath(
          Object.fromEntries(
            methods.flatMap((method) => {
              const operation = item[method] as JsonObject | undefined
              return operation ? [[method, writtenOperation(operation, method, form)]] : []
            }),
          ),
        ),
      ]),
  )

export const pathsOfV3 = (paths: JsonObject): JsonObject => written(paths, v3)

const fnvOffset = 0xcbf29ce484222325n
const fnvPrime = 0x100000001b3n

/** The first six bytes of FNV-1 in 64 bits. */
const hashOf = (text: string): string => {
  let hash = fnvOffset
  for (const byte of Buffer.from(text)) hash = BigInt.asUintN(64, hash * fnvPrime) ^ BigInt(byte)
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64BE(hash)
  return bytes.subarray(0, 6).toString('base64url')
}

const generic = '#/definitions/io.k8s.apimachinery'

/** Not shared: parameters that name a kind, and those that kubectl up to 1.27 looks for in each operation. */
const isShared = ({ name, in: place, schema }: Parameter): boolean => {
  if (place === 'body') return String((schema as JsonObject).$ref).startsWith(generic)
  return name !== 'name' && !(place === 'query' && ['fieldValidation', 'dryRun'].includes(name))
}

/** By the parameter's text. There are some fifty, which nearly every resource shares. */
const sharedNames = new Map<string, string>()

export const pathsOfV2 = (
  given: JsonObject,
): { readonly paths: JsonObject; readonly parameters: JsonObject } => {
  const paths = written(given, v2)
  const shared: JsonObject = {}
  const referTo = (parameter: Parameter): JsonObject => {
    if (!isShared(parameter)) return parameter
    const text = escapeHtml(JSON.stringify(parameter))
    let name = sharedNames.get(text)
    if (name === undefined) {
      name = `${parameter.name}-${hashOf(text)}`
      sharedNames.set(text, name)
    }
    shared[name] = parameter
    return { $ref: `#/parameters/${name}` }
  }
  const refer = (owner: JsonObject): JsonObject =>
    owner.parameters === undefined
      ? owner
      : { ...owner, parameters: (owner.parameters as Parameter[]).map(referTo) }
  for (const [path, item] of Object.entries(paths)) {
    const operations = Object.entries(item).map(([field, value]) => [
      field,
      field === 'parameters' ? value : refer(value as JsonObject),
    ])
    paths[path] = refer(Object.fromEntries(operations))
  }
  return { paths, parameters: shared }
}
