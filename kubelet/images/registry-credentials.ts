/**
 * Who a Pod is to registries, by the Secrets that it names for them, or by the node's own file (upstream:
 * pkg/credentialprovider, keyring.go and config.go).
 */
import { sha256 } from '#client/csi-volume.js'
import { decodeBase64 } from '#go/base64.js'
import { compareTexts } from '#go/compare-texts.js'
import { parseUrl } from '#go/url.js'
import type { DataObject } from '../object-reader.js'
import type { RegistryCredentials } from '../runtime.js'
import { repositoryOf } from './image-name.js'
import type { PullSecret } from './pull-records.js'

/** Null is an object without fields, as Go reads it. */
const objectOf = (value: unknown): Readonly<Record<string, unknown>> => {
  const object = value ?? {}
  if (typeof object === 'object' && !Array.isArray(object)) return { ...object }
  throw new Error('registry credentials: an object was expected')
}

const textOf = (value: unknown): string => {
  const text = value ?? ''
  if (typeof text === 'string') return text
  throw new Error('registry credentials: a text was expected')
}

/** Credentials, and the Secret that they come from; none where they are the node's. */
export interface ImageCredentials {
  readonly auth: RegistryCredentials
  readonly secret?: PullSecret
}
/** Credentials by location. */
export type Logins = readonly (readonly [location: string, auth: RegistryCredentials])[]

/** `auth` is Base64 of `user:password`, with its padding or without, and counts more than the two by themselves. */
const authOf = (entry: unknown): RegistryCredentials => {
  const { auth, username, password } = objectOf(entry)
  const packed = textOf(auth)
  if (packed === '') return { username: textOf(username), password: textOf(password) }
  const isPadded = packed.trim().endsWith('=')
  const decoded = decodeBase64(
    isPadded ? packed : packed.padEnd(4 * Math.ceil(packed.length / 4), '='),
  )
  if (!decoded) throw new Error('registry credentials: illegal base64 data')
  const [user, ...rest] = decoded.toString('utf8').split(':')
  if (rest.length === 0)
    throw new Error('unable to parse auth field, must be formatted as base64(username:password)')
  return { username: user!, password: rest.join(':') }
}

const loginsOf = (value: unknown): Logins =>
  Object.entries(objectOf(value)).map(([location, entry]) => [location, authOf(entry)] as const)

/** Reads a `.dockercfg`. Throws for what is none. */
export const parseDockercfg = (text: string): Logins => loginsOf(JSON.parse(text))
/** Reads a `config.json`, as `docker login` writes it. Throws for what is none. */
export const parseDockerConfig = (text: string): Logins =>
  loginsOf(objectOf(JSON.parse(text)).auths)

const loginsIn = ({ type, data = {} }: DataObject): Logins => {
  const read = (key: string, parse: (text: string) => Logins): Logins => {
    const text = Buffer.from(data[key] ?? '', 'base64').toString('utf8')
    return text === '' ? [] : parse(text)
  }
  switch (type) {
    case 'kubernetes.io/dockerconfigjson':
      return read('.dockerconfigjson', parseDockerConfig)
    case 'kubernetes.io/dockercfg':
      return read('.dockercfg', parseDockercfg)
    default:
      return []
  }
}

/** Host and path, without the version of the API; undefined where there is no URL. */
const keyOf = (location: string): string | undefined => {
  const url = parseUrl(/^https?:\/\//.test(location) ? location : `https://${location}`)
  if (typeof url === 'string') return undefined
  const path = url.path.replace(/^\/v[12](?=\/)/, '')
  return path === '/' ? url.host : url.host + path
}

/** `*` stands for any characters. One pass and a step back to the last `*`, whatever the pattern. */
const isMeant = (pattern: string, label: string): boolean => {
  let [at, star, from] = [0, -1, 0]
  for (let i = 0; i < label.length; ) {
    if (pattern[at] === '*') {
      star = at++
      from = i
    } else if (pattern[at] === label[i]) {
      at++
      i++
    } else if (star >= 0) {
      at = star + 1
      i = ++from
    } else return false
  }
  return /^\**$/.test(pattern.slice(at))
}

const placeOf = (key: string) => {
  const slash = key.indexOf('/')
  const host = slash < 0 ? key : key.slice(0, slash)
  const [, name, port] = /^(.*?)(:\d*)?$/s.exec(host)!
  return { labels: name!.split('.'), port, path: slash < 0 ? '' : key.slice(slash) }
}

const covers = (key: string, place: ReturnType<typeof placeOf>): boolean => {
  const meant = placeOf(key)
  return (
    meant.port === place.port &&
    meant.labels.length === place.labels.length &&
    place.path.startsWith(meant.path) &&
    meant.labels.every((pattern, i) => isMeant(pattern, place.labels[i]!))
  )
}

const recordOf = ({ metadata }: DataObject, auth: RegistryCredentials): PullSecret => ({
  uid: metadata.uid,
  namespace: metadata.namespace,
  name: metadata.name,
  credentialHash: sha256(JSON.stringify(auth)),
})

interface Known extends ImageCredentials {
  readonly key: string
}
const withKeys = (logins: Logins, secret?: DataObject): Known[] =>
  logins.flatMap(([location, auth]) => {
    const key = keyOf(location)
    if (key === undefined) return []
    return { key, auth, ...(secret ? { secret: recordOf(secret, auth) } : {}) }
  })

/** What `docker login` calls Docker Hub; images name it docker.io. */
const hub = 'index.docker.io'

/** Those of longer paths first, then in their order. */
const lookUp = (repository: string, known: readonly Known[]): readonly Known[] => {
  const place = placeOf(repository)
  const covering = known
    .filter(({ key }) => covers(key, place))
    .sort((a, b) => compareTexts(b.key, a.key))
  if (covering.length > 0 || !repository.startsWith('docker.io/')) return covering
  return known.filter(({ key }) => key === hub)
}

/** What the Secrets say for the repository of an image, then what the node says. Throws if a Secret cannot be read. */
export const credentialsFor = (
  image: string,
  secrets: readonly DataObject[],
  ofNode: Logins,
): readonly ImageCredentials[] => {
  const repository = repositoryOf(image)
  const ofSecrets = secrets.flatMap((secret) => withKeys(loginsIn(secret), secret))
  return [...lookUp(repository, ofSecrets), ...lookUp(repository, withKeys(ofNode))]
}
