/** Names of images: registry, repository, tag and digest (github.com/distribution/reference). */
import { goQuote } from '#go/quote.js'
import { getOwn } from '#json/object.js'
import { limits } from '#limits'

const hostPart = '(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])'
const host = `(?:${hostPart}(?:\\.${hostPart})*|\\[[a-fA-F0-9:]+\\])(?::[0-9]+)?`
const pathPart = '[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*'
const tag = '[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}'
const digest = '[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}'
const reference = new RegExp(
  `^${host}/(?<path>${pathPart}(?:/${pathPart})*)(?::(?<tag>${tag}))?(?:@(?<digest>${digest}))?$`,
)
const digestLengths: Readonly<Record<string, number>> = { sha256: 64, sha384: 96, sha512: 128 }

/** The part before the first slash is a registry if it looks like a host. */
const withRegistry = (name: string): string => {
  const slash = name.indexOf('/')
  const first = slash < 0 ? '' : name.slice(0, slash)
  const isHost = first === 'localhost' || /[.:]/.test(first) || first !== first.toLowerCase()
  const [registry, rest] = isHost ? [first, name.slice(slash + 1)] : ['docker.io', name]
  const isHub = registry === 'docker.io' || registry === 'index.docker.io'
  return isHub ? `docker.io/${rest.includes('/') ? '' : 'library/'}${rest}` : `${registry}/${rest}`
}

const digestProblem = (text: string): string | undefined => {
  if (!/^[a-z0-9]+(?:[.+_-][a-z0-9]+)*:/.test(text)) return 'invalid checksum digest format'
  const [algorithm = '', hex = ''] = text.split(':')
  const length = getOwn(digestLengths, algorithm)
  if (length === undefined) return 'unsupported digest algorithm'
  if (hex.length !== length) return 'invalid checksum digest length'
  return /^[0-9a-f]+$/.test(hex) ? undefined : 'invalid checksum digest format'
}

const problemOf = (name: string): string | undefined => {
  if (/^[a-f0-9]{64}$/.test(name))
    return `invalid repository name (${name}), cannot specify 64-byte hexadecimal strings`
  const full = withRegistry(name)
  const [repository = ''] = full.slice(full.indexOf('/') + 1).split(':')
  if (repository !== repository.toLowerCase())
    return `invalid reference format: repository name (${repository}) must be lowercase`
  const parts = reference.exec(full)?.groups
  if (!parts)
    return reference.test(full.toLowerCase())
      ? 'repository name must be lowercase'
      : 'invalid reference format'
  if (parts.path!.length > limits.imageNameLengthMax)
    return `repository name must not be more than ${limits.imageNameLengthMax} characters`
  return parts.digest === undefined ? undefined : digestProblem(parts.digest)
}

/** Registry and path of a valid name. */
export const repositoryOf = (name: string): string => {
  const full = withRegistry(name)
  return full.slice(0, full.indexOf('/') + 1) + reference.exec(full)!.groups!.path
}

/** The name with its tag (`latest` if it has neither tag nor digest), or why it is invalid. */
export const parseImageName = (name: string): { image: string } | { problem: string } => {
  const problem = problemOf(name)
  if (problem !== undefined)
    return { problem: `couldn't parse image name ${goQuote(name)}: ${problem}` }
  const { tag: given, digest: pinned } = reference.exec(withRegistry(name))!.groups!
  return { image: given === undefined && pinned === undefined ? `${name}:latest` : name }
}
