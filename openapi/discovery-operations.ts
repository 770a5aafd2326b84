/** The operations beside resources: discovery, version and the OpenID documents. */
import { operationGroup, upper } from './operation-group.js'
import type { Operation } from './operations.js'
import { builtInTypes } from './operations.js'

const meta = 'io.k8s.apimachinery.pkg.apis.meta.v1'
const lower = (text: string): string => text.slice(0, 1).toLowerCase() + text.slice(1)

const read = (
  path: string,
  id: string,
  { answer, tag, description }: { answer: string; tag: string; description: string },
  media: { consumes: readonly string[]; produces: readonly string[] } = {
    consumes: builtInTypes,
    produces: builtInTypes,
  },
): Operation => ({
  path,
  method: 'get',
  id,
  description,
  action: undefined,
  gvk: undefined,
  query: [],
  body: undefined,
  responses: { 200: answer, 401: null },
  tag,
  ...media,
})

const versions = (group: string, version: string): Operation => {
  const name = operationGroup(group)
  return read(
    group === '' ? `/api/${version}/` : `/apis/${group}/${version}/`,
    `get${name}${upper(version)}APIResources`,
    {
      answer: `${meta}.APIResourceList`,
      tag: `${lower(name)}_${version}`,
      description: 'get available resources',
    },
  )
}

/** `groupVersions` of built-in groups; custom ones have no such operations upstream. */
export const discoveryOperations = (
  groupVersions: readonly { group: string; version: string }[],
): Operation[] => {
  const groups = [...new Set(groupVersions.map(({ group }) => group))].filter((g) => g !== '')
  return [
    read('/api/', 'getCoreAPIVersions', {
      answer: `${meta}.APIVersions`,
      tag: 'core',
      description: 'get available API versions',
    }),
    read('/apis/', 'getAPIVersions', {
      answer: `${meta}.APIGroupList`,
      tag: 'apis',
      description: 'get available API versions',
    }),
    ...groups.map((group) =>
      read(`/apis/${group}/`, `get${operationGroup(group)}APIGroup`, {
        answer: `${meta}.APIGroup`,
        tag: lower(operationGroup(group)),
        description: 'get information of a group',
      }),
    ),
    ...groupVersions.map(({ group, version }) => versions(group, version)),
    read(
      '/version/',
      'getCodeVersion',
      {
        answer: 'io.k8s.apimachinery.pkg.version.Info',
        tag: 'version',
        description: 'get the version information for this server',
      },
      { consumes: ['application/json'], produces: ['application/json'] },
    ),
    read(
      '/.well-known/openid-configuration/',
      'getServiceAccountIssuerOpenIDConfiguration',
      {
        answer: 'string',
        tag: 'WellKnown',
        description:
          "get service account issuer OpenID configuration, also known as the 'OIDC discovery doc'",
      },
      { consumes: [], produces: ['application/json'] },
    ),
    read(
      '/openid/v1/jwks/',
      'getServiceAccountIssuerOpenIDKeyset',
      {
        answer: 'string',
        tag: 'openid',
        description:
          'get service account issuer OpenID JSON Web Key Set (contains public token verification keys)',
      },
      { consumes: [], produces: ['application/jwk-set+json'] },
    ),
  ]
}
