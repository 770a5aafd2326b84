/** Reads a kubeconfig: where the server is, how to trust it and who we are. */

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { trimRight } from '#go/trim-right.js'
import type { ClientCredentials } from '#net/client-credentials.js'
import {
  type CredentialProgram,
  credentialProgram,
  type ExecConfig,
  type ToldCluster,
} from './credential-program.js'
import { followCredentials } from './followed-credentials.js'

export interface ClientConfig extends ClientCredentials {
  /** `https://host:port`, maybe with a path, without a trailing slash. */
  server: string
  /** PEM. Missing: the roots that Node ships. */
  ca?: string
  /** The name that the server's certificate must carry. Missing: its host's. */
  serverName?: string
  insecureSkipTlsVerify?: boolean
  /** The proxy in between. Missing: none; the environment's proxies do not count. */
  proxyUrl?: string
  /** Knows the credentials, which are none otherwise. */
  program?: CredentialProgram
  /** The context's namespace; `default` when it names none. */
  namespace: string
}

/** What is missing or null is empty, as for client-go. */
interface KubeconfigDocument {
  'current-context'?: string
  contexts?: {
    name: string
    context?: { cluster: string; user: string; namespace?: string } | null
  }[]
  clusters?: { name: string; cluster?: KubeconfigCluster | null }[]
  users?: { name: string; user?: KubeconfigUser | null }[]
}

interface KubeconfigCluster {
  server?: string
  'certificate-authority'?: string
  'certificate-authority-data'?: string
  'tls-server-name'?: string
  'insecure-skip-tls-verify'?: boolean
  'proxy-url'?: string
  extensions?: { name: string; extension: unknown }[] | null
}

interface KubeconfigUser {
  token?: string
  tokenFile?: string
  username?: string
  password?: string
  'client-certificate'?: string
  'client-certificate-data'?: string
  'client-key'?: string
  'client-key-data'?: string
  as?: string
  'as-uid'?: string
  'as-groups'?: string[] | null
  'as-user-extra'?: Record<string, string[]> | null
  exec?: ExecConfig | null
  'auth-provider'?: object | null
}

const parseText = (text: string): KubeconfigDocument | null => {
  // JSON needs no parser of 20 ms import and 3 MB.
  if (text.trimStart().startsWith('{')) return JSON.parse(text)
  // Through require: what a bundler makes of a late import of CommonJS has no names.
  const { parse } = createRequire(import.meta.url)('yaml') as typeof import('yaml')
  return parse(text)
}

const absolute = <T extends object>(part: T, names: readonly (keyof T)[], folder: string): T => {
  const files = names.flatMap((name) =>
    part[name] ? [[name, path.resolve(folder, part[name] as string)]] : [],
  )
  return { ...part, ...Object.fromEntries(files) }
}

const placed = ({ exec, ...rest }: KubeconfigUser, folder: string): KubeconfigUser => {
  const user = absolute(rest, ['client-certificate', 'client-key', 'tokenFile'], folder)
  if (!exec) return user
  // A name alone is looked for in $PATH.
  const isFile = exec.command?.includes(path.sep)
  return { ...user, exec: isFile ? absolute(exec, ['command'], folder) : exec }
}

/** Relative files are looked up in `folder`. */
const parseDocument = (text: string, folder: string): KubeconfigDocument => {
  // An empty text is null.
  const document = parseText(text) ?? {}
  // kubectl writes null for a list without entries.
  const contexts = document.contexts ?? []
  const clusters = document.clusters ?? []
  const users = document.users ?? []
  return {
    ...document,
    contexts,
    clusters: clusters.map(({ name, cluster }) => ({
      name,
      cluster: absolute(cluster ?? {}, ['certificate-authority'], folder),
    })),
    users: users.map(({ name, user }) => ({ name, user: placed(user ?? {}, folder) })),
  }
}

const readDocument = (file: string): KubeconfigDocument =>
  parseDocument(readFileSync(file, 'utf8'), path.dirname(file))

/** What an earlier one says counts, of a cluster or user as a whole: names are looked for from the front. */
const mergeDocuments = (documents: readonly KubeconfigDocument[]): KubeconfigDocument => {
  const current = documents.map((document) => document['current-context']).find(Boolean)
  return {
    ...(current ? { 'current-context': current } : {}),
    contexts: documents.flatMap(({ contexts = [] }) => contexts),
    clusters: documents.flatMap(({ clusters = [] }) => clusters),
    users: documents.flatMap(({ users = [] }) => users),
  }
}

const pem = (data: string | undefined, file: string | undefined): string | undefined => {
  if (data) return Buffer.from(data, 'base64').toString('utf8')
  return file && readFileSync(file, 'utf8')
}

/** Where a file is, unless its contents are given. */
const placeOf = (data: string | undefined, file: string | undefined) => (data ? undefined : file)

const impersonatedOf = (user: KubeconfigUser): Pick<ClientCredentials, 'impersonated'> => {
  if (!user.as) return {}
  return {
    impersonated: {
      user: user.as,
      uid: user['as-uid'],
      groups: user['as-groups'] ?? undefined,
      extra: user['as-user-extra'] ?? undefined,
    },
  }
}

/** Credentials that it says itself; they count before those of a program. */
const saysCredentials = ({ token, cert, username }: ClientCredentials): boolean =>
  Boolean(token || cert || username)

/** Throws an Error for a user whose credentials only a program knows that is not run: it would be nobody. */
const refuseProgram = (name: string, kind: 'exec' | 'auth-provider'): never => {
  throw new Error(
    `the user "${name}" of the kubeconfig has its credentials from ${kind}, which is not supported`,
  )
}

const credentialsOf = (user: KubeconfigUser): ClientCredentials => {
  const { username, password, tokenFile } = user
  // The file is the one that is kept up to date.
  const token = (tokenFile && readFileSync(tokenFile, 'utf8').trim()) || user.token
  const certFile = placeOf(user['client-certificate-data'], user['client-certificate'])
  const keyFile = placeOf(user['client-key-data'], user['client-key'])
  const cert = pem(user['client-certificate-data'], certFile)
  const key = pem(user['client-key-data'], keyFile)
  const files = {
    ...(certFile && keyFile ? { cert: certFile, key: keyFile } : {}),
    ...(tokenFile ? { token: tokenFile } : {}),
  }
  return {
    ...(Object.keys(files).length > 0 ? { files } : {}),
    ...(cert ? { cert } : {}),
    ...(key ? { key } : {}),
    ...(token ? { token } : {}),
    ...(username ? { username } : {}),
    ...(password ? { password } : {}),
    ...impersonatedOf(user),
  }
}

/** In client-go's words (clientcmd, parseProxyURL). */
const checkProxy = (url: string): void => {
  const invalid = `invalid 'proxy-url' ${JSON.stringify(url)} for the cluster`
  if (!URL.canParse(url)) throw new Error(`${invalid}: could not parse: ${url}`)
  const scheme = new URL(url).protocol.slice(0, -1)
  if (!['http', 'https', 'socks5'].includes(scheme))
    throw new Error(
      `${invalid}: unsupported scheme ${JSON.stringify(scheme)}, must be http, https, or socks5`,
    )
}

const toldOf = (
  cluster: KubeconfigCluster,
  server: string,
  ca: string | undefined,
): ToldCluster => {
  const config = cluster.extensions?.find(
    ({ name }) => name === 'client.authentication.k8s.io/exec',
  )
  return {
    server,
    ...(cluster['tls-server-name'] ? { 'tls-server-name': cluster['tls-server-name'] } : {}),
    ...(cluster['insecure-skip-tls-verify'] ? { 'insecure-skip-tls-verify': true } : {}),
    ...(ca ? { 'certificate-authority-data': Buffer.from(ca).toString('base64') } : {}),
    ...(cluster['proxy-url'] ? { 'proxy-url': cluster['proxy-url'] } : {}),
    config: config?.extension ?? null,
  }
}

/** The current context of a kubeconfig's text; relative files are looked up in `folder`. */
export const parseKubeconfig = async (text: string, folder = '.'): Promise<ClientConfig> =>
  configOf(parseDocument(text, folder))

const configOf = (document: KubeconfigDocument): ClientConfig => {
  const wanted = document['current-context']
  const ctx = document.contexts?.find((c) => c.name === wanted)?.context
  if (!ctx) throw new Error(`kubeconfig has no context "${wanted ?? ''}"`)
  const cluster = document.clusters?.find((c) => c.name === ctx.cluster)?.cluster
  if (!cluster) throw new Error(`kubeconfig has no cluster "${ctx.cluster}"`)
  const { server } = cluster
  if (!server) throw new Error(`kubeconfig has no server for the cluster "${ctx.cluster}"`)
  const user = document.users?.find((u) => u.name === ctx.user)?.user ?? {}
  const caData = cluster['certificate-authority-data']
  const caFile = placeOf(caData, cluster['certificate-authority'])
  const ca = pem(caData, caFile)
  const credentials = credentialsOf(user)
  if (user['auth-provider'] && !saysCredentials(credentials))
    refuseProgram(ctx.user, 'auth-provider')
  const program =
    user.exec && !saysCredentials(credentials)
      ? credentialProgram(user.exec, { user: ctx.user, cluster: toldOf(cluster, server, ca) })
      : undefined
  const proxyUrl = cluster['proxy-url']
  if (proxyUrl) checkProxy(proxyUrl)
  const files = caFile ? { ...credentials.files, ca: caFile } : credentials.files
  return {
    server: trimRight(server, '/'),
    namespace: ctx.namespace || 'default',
    ...(ca ? { ca } : {}),
    ...(cluster['tls-server-name'] ? { serverName: cluster['tls-server-name'] } : {}),
    ...credentials,
    ...(files && { files }),
    ...(cluster['insecure-skip-tls-verify'] ? { insecureSkipTlsVerify: true } : {}),
    ...(proxyUrl ? { proxyUrl } : {}),
    ...(program ? { program } : {}),
  }
}

/** The current context of the files together. */
export const loadKubeconfig = async (...files: readonly string[]): Promise<ClientConfig> =>
  configOf(mergeDocuments(files.map(readDocument)))

/** Credentials of a user of the kubeconfig; without a name, of the current context's user. */
export type CredentialsOfUser = (name?: string) => ClientCredentials | undefined

/** A kubeconfig with credentials for many servers, and without the address of any. */
export const loadKubeconfigUsers = async (
  file: string,
  rereadMs?: number,
): Promise<CredentialsOfUser> => {
  const { users = [], contexts = [], ...document } = readDocument(file)
  const current = contexts.find((c) => c.name === document['current-context'])?.context?.user
  const known = new Map(
    users.map(({ name, user }) => {
      const credentials = credentialsOf(user ?? {})
      const program = user?.exec ? 'exec' : user?.['auth-provider'] && 'auth-provider'
      if (program && !saysCredentials(credentials)) refuseProgram(name, program)
      return [name, followCredentials(credentials, rereadMs)]
    }),
  )
  return (name = current) => (name === undefined ? undefined : known.get(name)?.())
}
