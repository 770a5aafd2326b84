/** `/version`: which Kubernetes this server answers as. */
import type { FastifyInstance, RouteHandler } from 'fastify'
import { methodNotAllowed, pathNotFound } from '#api/errors.js'
import { checkContentType, fitsRoute, notAcceptable } from './answers/accept.js'

export interface BuildInfo {
  gitVersion: string
  nodeVersion: string
  platform: string
}

const kubernetesMinor = 36
const kubernetesPatch = 3
const kubernetesVersion = `1.${kubernetesMinor}.${kubernetesPatch}`

/** The build metadata names kubelevel, whose own version is `ownVersion`. */
export const gitVersionOf = (ownVersion: string): string =>
  `v${kubernetesVersion}+kubelevel.${ownVersion}`

const suffix = /^(-[\dA-Za-z-]+(\.[\dA-Za-z-]+)*)?(\+[\dA-Za-z-]+(\.[\dA-Za-z-]+)*)?$/

/** What is wrong with a version to be told in place of that one (component-base, version/dynamic.go). */
export const gitVersionProblem = (version: string): string | undefined => {
  const own = `v${kubernetesVersion}`
  return version.startsWith(own) && suffix.test(version.slice(own.length))
    ? undefined
    : `must be ${own}, and may have a pre-release or build metadata behind it`
}

export const versionDocument = ({ gitVersion, nodeVersion, platform }: BuildInfo) => ({
  major: '1',
  minor: String(kubernetesMinor),
  emulationMajor: '1',
  emulationMinor: String(kubernetesMinor),
  minCompatibilityMajor: '1',
  minCompatibilityMinor: String(kubernetesMinor - 1),
  gitVersion,
  gitCommit: '',
  gitTreeState: '',
  buildDate: '1970-01-01T00:00:00Z',
  goVersion: `node${nodeVersion}`,
  compiler: 'v8',
  platform,
})

const produced = ['application/json']

export const installVersion = (app: FastifyInstance, build: BuildInfo): void => {
  const body = Buffer.from(JSON.stringify(versionDocument(build), null, 2))
  const version: RouteHandler = (request, reply) => {
    if (request.method !== 'GET') throw methodNotAllowed()
    checkContentType(request.bodyType, produced)
    if (!fitsRoute(request.headers.accept, produced)) throw notAcceptable(produced)
    return reply.header('content-type', 'application/json').send(body)
  }
  for (const url of ['/version', '/version/']) app.all(url, version)
  // Upstream has a go-restful service here: unknown paths get a Status.
  app.all('/version/*', () => {
    throw pathNotFound()
  })
}
