/** Authenticators: credentials in, a user out. */
import type { UserInfo } from '#api/user-info.js'

export interface Credentials {
  /** The bearer token of the Authorization header; undefined when there is none. */
  readonly token: string | undefined
  /** Verified identity of the TLS client certificate; `invalid` when one was shown that no CA of ours signed. */
  readonly certificate: UserInfo | 'invalid' | undefined
}

export interface Authenticator {
  /**
   * Undefined: no credentials were shown. `rejected`: some were, and none of them held. An answer that is no promise
   * depends on nothing but the credentials: it holds as long as the server runs. What can be revoked is a promise.
   */
  authenticate(
    credentials: Credentials,
  ): UserInfo | undefined | 'rejected' | Promise<UserInfo | undefined | 'rejected'>
}

/** One kind of bearer token. `undefined`: not mine. */
export type TokenAuthenticator = (
  token: string,
) => UserInfo | undefined | Promise<UserInfo | undefined>

/** Every authenticated user belongs to system:authenticated, whoever vouches for it. */
export const withAuthenticatedGroup = (user: UserInfo): UserInfo =>
  user.groups.includes('system:authenticated') || user.groups.includes('system:unauthenticated')
    ? user
    : { ...user, groups: [...user.groups, 'system:authenticated'] }

/** Client certificate first, then the tokens in order: as upstream's union. */
export const unionAuthenticator = (tokens: readonly TokenAuthenticator[]): Authenticator => ({
  authenticate({ token, certificate }) {
    if (certificate !== undefined && certificate !== 'invalid') return certificate
    if (token === undefined) return certificate === 'invalid' ? 'rejected' : undefined
    return tryTokens(tokens, token)
  },
})

const tryTokens = (
  tokens: readonly TokenAuthenticator[],
  token: string,
): UserInfo | 'rejected' | Promise<UserInfo | 'rejected'> => {
  for (let i = 0; i < tokens.length; i++) {
    const user = tokens[i]!(token)
    if (user instanceof Promise)
      return user.then((known) => known ?? tryTokens(tokens.slice(i + 1), token))
    if (user !== undefined) return user
  }
  return 'rejected'
}
