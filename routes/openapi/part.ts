/**
 * What operations add to an OpenAPI document, by @fastify/swagger: they are declared as routes on an instance that never
 * listens, and is gone when the part is made.
 */
// A default import, in a module that is loaded late: only so does the bundler keep the names of a CommonJS module.

import swagger from '@fastify/swagger'
import { type FastifySchema, fastify } from 'fastify'
import { write } from '#json/json.js'
import type { JsonObject } from '#json/value.js'
import { docOfParameter } from '#openapi/field-docs.js'
import type { Operation } from '#openapi/operations.js'
import { parameterType } from '#openapi/parameters.js'
import type { OpenApiVersion } from './custom-schemas.js'
import { pathsOfV2, pathsOfV3 } from './paths.js'

const responseTexts: Readonly<Record<string, string>> = {
  200: 'OK',
  201: 'Created',
  202: 'Accepted',
  401: 'Unauthorized',
}

const parameters = (
  names: readonly string[],
  describe: (name: string) => string | undefined,
): JsonObject => ({
  type: 'object',
  properties: Object.fromEntries(
    names.map((name) => {
      const description = describe(name)
      const type = parameterType(name)
      return [name, { type, ...(description && { description }), uniqueItems: true }]
    }),
  ),
})

/** Descriptions of path parameters, as upstream's installer has them. */
const pathDoc = (name: string, kind: string | undefined): string | undefined => {
  if (name === 'namespace') return 'object name and auth scope, such as for teams and projects'
  if (name === 'path') return 'path to the resource'
  return name === 'name' && kind !== undefined ? `name of the ${kind}` : undefined
}

const pathNames = (path: string): string[] => [...path.matchAll(/\{(\w+)\}/g)].map((m) => m[1]!)

const routeSchema = (operation: Operation): FastifySchema => {
  const { id, description, tag, consumes, produces, action, gvk, query, body, path } = operation
  const inPath = pathNames(path)
  const response = Object.fromEntries(
    Object.entries(operation.responses).map(([code, answer]) => {
      const text = { description: responseTexts[code]! }
      if (answer === null) return [code, { ...text, type: 'null' }]
      return [
        code,
        answer === 'string' ? { ...text, type: 'string' } : { ...text, $ref: `${answer}#` },
      ]
    }),
  )
  return {
    operationId: id,
    description,
    tags: [tag],
    produces: [...produces],
    response,
    ...(consumes.length === 0 ? {} : { consumes: [...consumes] }),
    ...(inPath.length === 0
      ? {}
      : { params: parameters(inPath, (name) => pathDoc(name, gvk?.kind)) }),
    ...(query.length === 0
      ? {}
      : {
          querystring: parameters(query, (name) =>
            docOfParameter(name, { action, kind: gvk?.kind }),
          ),
        }),
    ...(body === undefined ? {} : { body: { $ref: `${body}#` } }),
    ...(action === undefined ? {} : { 'x-kubernetes-action': action }),
    ...(gvk === undefined ? {} : { 'x-kubernetes-group-version-kind': gvk }),
  }
}

/** Schemas that the operations name: declared empty, so that nothing compiles them; the real ones are put in afterwards. */
const namedSchemas = (operations: readonly Operation[]): Set<string> => {
  const names = new Set<string>()
  for (const { body, responses } of operations)
    for (const name of [body, ...Object.values(responses)])
      if (typeof name === 'string' && name !== 'string') names.add(name)
  return names
}

// The title and version are said of the whole.
const info = { title: '', version: '' }
const options = (version: OpenApiVersion): object => ({
  ...(version === 'v3'
    ? { openapi: { openapi: '3.0.0', info } }
    : { swagger: { swagger: '2.0', info } }),
  exposeHeadRoutes: true,
  refResolver: { buildLocalReference: (json: { $id?: unknown }) => json.$id },
})

/** Each as it is written into the document. */
export type WrittenMembers = readonly (readonly [name: string, text: string])[]

export interface DocumentPart {
  readonly paths: WrittenMembers
  /** Those that operations share; OpenAPI 3 has none. */
  readonly parameters: WrittenMembers
  /** The schemas that its operations name. */
  readonly schemas: ReadonlySet<string>
}

const written = (members: JsonObject): WrittenMembers =>
  Object.entries(members).map(([name, value]) => [name, write(value)])

/** A part for each list of operations, which have no path in common. */
export const makeParts = async (
  version: OpenApiVersion,
  lists: readonly (readonly Operation[])[],
): Promise<DocumentPart[]> => {
  const app = fastify({ exposeHeadRoutes: false })
  app.setValidatorCompiler(() => () => true)
  app.setSerializerCompiler(() => () => '')
  await app.register(swagger, options(version))
  for (const name of namedSchemas(lists.flat())) app.addSchema({ $id: name, type: 'object' })
  for (const operation of lists.flat())
    app.route({
      method: operation.method.toUpperCase(),
      url: operation.path.replace(/\{(\w+)\}/g, ':$1'),
      schema: routeSchema(operation),
      handler: () => undefined,
    })
  await app.ready()
  const given = (app.swagger() as unknown as JsonObject).paths as JsonObject
  await app.close()
  return lists.map((operations) => {
    const own = Object.fromEntries(operations.map(({ path }) => [path, given[path]!]))
    const schemas = namedSchemas(operations)
    if (version === 'v3') return { paths: written(pathsOfV3(own)), parameters: [], schemas }
    const { paths, parameters } = pathsOfV2(own)
    return { paths: written(paths), parameters: written(parameters), schemas }
  })
}
