/**
 * An OpenAPI document from operations, by @fastify/swagger: the operations are declared as routes on an instance that
 * never listens. That instance is made when a document is first asked for, and gone when it is made.
 */
// A default import, in a module that is loaded late: only so does the bundler keep the names of a CommonJS module.

import swagger from '@fastify/swagger'
import { type FastifySchema, fastify } from 'fastify'
import { mapValues } from '#json/entries.js'
import type { JsonObject } from '#json/value.js'
import { docOfParameter } from '#openapi/field-docs.js'
import type { Operation } from '#openapi/operations.js'
import { parameterType } from '#openapi/parameters.js'
import { metaKindVersions, withMetaKinds } from './meta-kinds.js'
import { pathsOfV2, pathsOfV3 } from './paths.js'
import { toSwaggerSchema } from './schemas.js'

type OpenApiVersion = 'v2' | 'v3'

const info = { title: 'Kubernetes', version: '1.36' }
/** The title and version of documents of custom resources. */
const customInfo = { title: 'Kubernetes CRD Swagger', version: 'v0.1.0' }
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

const options = (version: OpenApiVersion): object => ({
  ...(version === 'v3'
    ? { openapi: { openapi: '3.0.0', info } }
    : { swagger: { swagger: '2.0', info } }),
  exposeHeadRoutes: true,
  refResolver: { buildLocalReference: (json: { $id?: unknown }) => json.$id },
})

const bearerToken = {
  description: 'Bearer Token authentication',
  type: 'apiKey',
  name: 'authorization',
  in: 'header',
}

interface DocumentParts {
  readonly version: OpenApiVersion
  readonly operations: readonly Operation[]
  readonly isCustom: boolean
  /** The schemas for these names and what they refer to. */
  readonly schemasOf: (names: Iterable<string>) => Record<string, JsonObject>
}

export const makeDocument = async ({
  version,
  operations,
  isCustom,
  schemasOf,
}: DocumentParts): Promise<JsonObject> => {
  const app = fastify({ exposeHeadRoutes: false })
  app.setValidatorCompiler(() => () => true)
  app.setSerializerCompiler(() => () => '')
  await app.register(swagger, options(version))
  const names = namedSchemas(operations)
  for (const name of names) app.addSchema({ $id: name, type: 'object' })
  for (const operation of operations)
    app.route({
      method: operation.method.toUpperCase(),
      url: operation.path.replace(/\{(\w+)\}/g, ':$1'),
      schema: routeSchema(operation),
      handler: () => undefined,
    })
  await app.ready()
  const document = app.swagger() as unknown as JsonObject
  await app.close()
  const given = document.paths as JsonObject
  const versions = metaKindVersions(
    operations.map(({ path }) => path),
    { isWhole: version === 'v2', isCustom },
  )
  const schemas = withMetaKinds(schemasOf(names), versions)
  if (version === 'v3')
    return {
      openapi: document.openapi!,
      info: isCustom ? customInfo : info,
      paths: pathsOfV3(given),
      components: {
        ...(Object.keys(schemas).length === 0 ? {} : { schemas }),
        ...(isCustom ? {} : { securitySchemes: { BearerToken: bearerToken } }),
      },
    }
  const { paths, parameters: shared } = pathsOfV2(given)
  return {
    swagger: document.swagger!,
    info,
    paths,
    definitions: mapValues(schemas, toSwaggerSchema),
    parameters: shared,
    securityDefinitions: { BearerToken: bearerToken },
    security: [{ BearerToken: [] }],
  }
}
