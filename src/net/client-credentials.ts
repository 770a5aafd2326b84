/** Where they were read, which may change while they are used. */
interface CredentialFiles {
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
  readonly token?: string
}

/** As whom requests count. */
interface Impersonated {
  readonly user: string
  readonly uid?: string | undefined
  readonly groups?: readonly string[] | undefined
  readonly extra?: Readonly<Record<string, readonly string[]>> | undefined
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
  readonly impersonated?: Impersonated
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

/** As Go writes texts that are not ASCII into headers. */
const headerText = (text: string): string => Buffer.from(text).toString('latin1')

const headerName = (text: string): string =>
  headerText(text).replace(
    /[^!#$&'*+\-.^_`|~0-9A-Za-z]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  )

/** The headers that say as whom a request counts (client-go, impersonatingRoundTripper). */
export const impersonationOf = ({
  impersonated,
}: ClientCredentials): Record<string, string | string[]> => {
  if (impersonated === undefined) return {}
  const { user, uid, groups = [], extra = {} } = impersonated
  return {
    'impersonate-user': headerText(user),
    ...(uid ? { 'impersonate-uid': headerText(uid) } : {}),
    ...(groups.length > 0 ? { 'impersonate-group': groups.map(headerText) } : {}),
    ...Object.fromEntries(
      Object.entries(extra).map(([key, values]) => [
        `impersonate-extra-${headerName(key)}`,
        values.map(headerText),
      ]),
    ),
  }
}
