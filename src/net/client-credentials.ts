/** Where they were read, which may change while they are used. */
interface CredentialFiles {
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
  readonly token?: string
}

/** Credentials of a client, as a user of a kubeconfig has them. */
export interface ClientCredentials {
  /** PEM. */
  readonly cert?: string
  readonly key?: string
  readonly token?: string
  /** For basic authentication. */
  readonly username?: string
  readonly password?: string
  readonly files?: CredentialFiles
}

/** The Authorization header, for credentials that go in one. */
export const authorizationOf = ({
  token,
  username,
  password = '',
}: ClientCredentials): Record<string, string> => {
  if (token) return { authorization: `Bearer ${token}` }
  if (!username) return {}
  return { authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}` }
}
