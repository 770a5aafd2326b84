/** Reads a kubeconfig: where the server is, how to trust it and who we are. */

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import type { ClientCredentials } from '#net/client-credentials.js'
import { followCredentials } from './followed-credentials.js'

export interface ClientConfig extends ClientCredentials {
  /** `https://host:port`, without a trailing slash. */
  server: string
  /** PEM. Missing: the roots that Node ships. */
  ca?: string
  /** The name that the server's certificate must carry. Missing: its host's. */
  serverName?: string
  insecureSkipTlsVerify?: boolean
  /** The context's namespace; `default` when it names none. */
  namespace: string
}

interface KubeconfigDocument {
  'current-context'?: string
  contexts?: { name: string; context: { cluster: string; user: string; namespace?: string } }[]
  clusters?: {
    name: string
    cluster: {
      server: string
      'certificate-authority'?: string
      'certificate-authority-data'?: string
      'tls-server-name'?: string
      'insecure-skip-tls-verify'?: boolean
    }
  }[]
  users?: { name: string; user: KubeconfigUser }[]
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
}

const parseDocument = async (text: string): Promise<KubeconfigDocument | null> => {
  // JSON needs no parser of 20 ms import and 3 MB.
  if (text.trimStart().startsWith('{')) return JSON.parse(text)
  // Through require: what a bundler makes of a late import of CommonJS has no names.
  const { parse } = createRequire(import.meta.url)('yaml') as typeof import('yaml')
  return parse(text)
}

const pem = (data: string | undefined, file: string | undefined): string | undefined => {
  if (data) return Buffer.from(data, 'base64').toString('utf8')
  return file && readFileSync(file, 'utf8')
}

/** Where a file is, unless its contents are given. */
const placeOf = (data: string | undefined, file: string | undefined, folder: string) =>
  !data && file ? path.resolve(folder, file) : undefined

/** Relative files are looked up in `folder`. */
const credentialsOf = (user: KubeconfigUser, folder: string): ClientCredentials => {
  const { username, password } = user
  const tokenFile = placeOf(undefined, user.tokenFile, folder)
  // The file is the one that is kept up to date.
  const token = (tokenFile && readFileSync(tokenFile, 'utf8').trim()) || user.token
  const certFile = placeOf(user['client-certificate-data'], user['client-certificate'], folder)
  const keyFile = placeOf(user['client-key-data'], user['client-key'], folder)
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
  }
}

/** The current context of a kubeconfig's text; relative files are looked up in `folder`. */
export const parseKubeconfig = async (text: string, folder = '.'): Promise<ClientConfig> => {
  // An empty text is null.
  const document = (await parseDocument(text)) ?? {}
  const wanted = document['current-context']
  const ctx = document.contexts?.find((c) => c.name === wanted)?.context
  if (!ctx) throw new Error(`kubeconfig has no context "${wanted ?? ''}"`)
  const cluster = document.clusters?.find((c) => c.name === ctx.cluster)?.cluster
  if (!cluster) throw new Error(`kubeconfig has no cluster "${ctx.cluster}"`)
  const user = document.users?.find((u) => u.name === ctx.user)?.user ?? {}
  const caData = cluster['certificate-authority-data']
  const caFile = placeOf(caData, cluster['certificate-authority'], folder)
  const ca = pem(caData, caFile)
  const credentials = credentialsOf(user, folder)
  const files = caFile ? { ...credentials.files, ca: caFile } : credentials.files
  return {
    server: cluster.server.replace(/\/+$/, ''),
    namespace: ctx.namespace ?? 'default',
    ...(ca ? { ca } : {}),
    ...(cluster['tls-server-name'] ? { serverName: cluster['tls-server-name'] } : {}),
    ...credentials,
    ...(files && { files }),
    ...(cluster['insecure-skip-tls-verify'] ? { insecureSkipTlsVerify: true } : {}),
  }
}

export const loadKubeconfig = (file: string): Promise<ClientConfig> =>
  parseKubeconfig(readFileSync(file, 'utf8'), path.dirname(file))

/** Credentials of a user of the kubeconfig; without a name, of the current context's user. */
export type CredentialsOfUser = (name?: string) => ClientCredentials | undefined

/** A kubeconfig with credentials for many servers, and without the address of any. */
export const loadKubeconfigUsers = async (
  file: string,
  rereadMs?: number,
): Promise<CredentialsOfUser> => {
  const {
    users = [],
    contexts = [],
    ...document
  } = (await parseDocument(readFileSync(file, 'utf8'))) ?? {}
  const current = contexts.find((c) => c.name === document['current-context'])?.context.user
  const known = new Map(
    users.map(({ name, user }) => [
      name,
      followCredentials(credentialsOf(user, path.dirname(file)), rereadMs),
    ]),
  )
  return (name = current) => (name === undefined ? undefined : known.get(name)?.())
}
