/** An OpenAPI document, put together from what its parts have written. */
import { compareTexts } from '#go/compare-texts.js'
import type { JsonValue } from '#json/value.js'
import type { OpenApiVersion } from './custom-schemas.js'
import { metaKindVersions } from './meta-kinds.js'
import type { DocumentPart, WrittenMembers } from './part.js'
import type { WrittenSchema, WrittenSchemas } from './written-schemas.js'

const info = { title: 'Kubernetes', version: '1.36' }
/** The title and version of documents of custom resources. */
const customInfo = { title: 'Kubernetes CRD Swagger', version: 'v0.1.0' }

const bearerToken = {
  description: 'Bearer Token authentication',
  type: 'apiKey',
  name: 'authorization',
  in: 'header',
}

const object = (members: WrittenMembers): string =>
  `{${members.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(',')}}`

const member = (name: string, value: JsonValue): readonly [string, string] => [
  name,
  JSON.stringify(value),
]

/** Parts may have the same. */
const inOrder = (members: WrittenMembers): WrittenMembers =>
  [...new Map(members)].sort(([a], [b]) => compareTexts(a, b))

interface Contents {
  readonly version: OpenApiVersion
  readonly parts: readonly DocumentPart[]
  readonly isCustom: boolean
  readonly schemas: WrittenSchemas
  /** Those of custom kinds. */
  readonly custom: ReadonlyMap<string, WrittenSchema>
}

/** The document's JSON. */
export const documentOf = ({ version, parts, isCustom, schemas, custom }: Contents): string => {
  const paths = inOrder(parts.flatMap((part) => part.paths))
  const versions = metaKindVersions(
    paths.map(([path]) => path),
    { isWhole: version === 'v2', isCustom },
  )
  const named = new Set(parts.flatMap((part) => [...part.schemas]))
  const reached = schemas.closure(named, custom, versions)
  if (version === 'v3') {
    const components: WrittenMembers = [
      ...(reached.length === 0 ? [] : [['schemas', object(reached)] as const]),
      ...(isCustom ? [] : [member('securitySchemes', { BearerToken: bearerToken })]),
    ]
    return object([
      member('openapi', '3.0.0'),
      member('info', isCustom ? customInfo : info),
      ['paths', object(paths)],
      ['components', object(components)],
    ])
  }
  return object([
    member('swagger', '2.0'),
    member('info', info),
    ['paths', object(paths)],
    ['definitions', object(reached)],
    ['parameters', object(inOrder(parts.flatMap((part) => part.parameters)))],
    member('securityDefinitions', { BearerToken: bearerToken }),
    member('security', [{ BearerToken: [] }]),
  ])
}
