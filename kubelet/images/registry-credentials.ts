/**
 * Who a Pod is to registries, by the Secrets that it names for them (upstream: pkg/credentialprovider, keyring.go and
 * config.go).
 */
import { createHash } from 'node:crypto'
import { compareTexts } from '#go/compare-texts.js'
import { parseUrl } from '#go/url.js'
import type { DataObject } from '../object-reader.js'
import type { RegistryCredentials } from '../runtime.js'
import { repositoryOf } from './image-name.js'
import type { PullSecret } from './pull-records.js'

/** Credentials, and the Secret that they come from. */
export interface SecretCredentials {
  readonly auth: RegistryCredentials
  readonly secret: PullSecret
}

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

/** By location, as `docker login` writes them. */
const entriesOf = ({ type, data = {} }: DataObject): [location: string, entry: unknown][] => {
  const read = (key: string): unknown => {
    const text = Buffer.from(data[key] ?? '', 'base64').toString('utf8')
    return text === '' ? {} : JSON.parse(text)
  }
  switch (type) {
    case 'kubernetes.io/dockerconfigjson':
      return Object.entries(objectOf(objectOf(read('.dockerconfigjson')).auths))
    case 'kubernetes.io/dockercfg':
      return Object.entries(objectOf(read('.dockercfg')))
    default:
      return []
  }
}

/** `auth` is Base64 of `user:password`, and counts more than the two by themselves. */
const credentialsOf = (entry: unknown): RegistryCredentials => {
  const { auth, username, password } = objectOf(entry)
  if (textOf(auth) === '') return { username: textOf(username), password: textOf(password) }
  const [user, ...rest] = Buffer.from(textOf(auth), 'base64').toString('utf8').split(':')
  if (rest.length === 0)
    throw new Error('unable to parse auth field, must be formatted as base64(username:password)')
  return { username: user!, password: rest.join(':') }
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
  credentialHash: createHash('sha256').update(JSON.stringify(auth)).digest('hex'),
})

/** What `docker login` calls Docker Hub; images name it docker.io. */
const hub = 'index.docker.io'

/**
 * What the Secrets say for the repository of an image: those of longer paths first, then in the order of the Secrets.
 * Throws if one cannot be read.
 */
export const credentialsFor = (
  image: string,
  secrets: readonly DataObject[],
): readonly SecretCredentials[] => {
  const repository = repositoryOf(image)
  const place = placeOf(repository)
  const known = secrets.flatMap((secret) =>
    entriesOf(secret).flatMap(([location, entry]) => {
      const key = keyOf(location)
      return key === undefined ? [] : [{ key, auth: credentialsOf(entry), secret }]
    }),
  )
  const covering = known
    .filter(({ key }) => covers(key, place))
    .sort((a, b) => compareTexts(b.key, a.key))
  const ofHub = repository.startsWith('docker.io/') ? known.filter(({ key }) => key === hub) : []
  return (covering.length > 0 ? covering : ofHub).map(({ auth, secret }) => ({
    auth,
    secret: recordOf(secret, auth),
  }))
}
