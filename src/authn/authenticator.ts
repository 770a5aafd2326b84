/** Authenticators: credentials in, a user out. */
import { authenticatedGroup, type UserInfo, unauthenticatedGroup } from '#api/user-info.js'

export interface Credentials {
  /** The bearer token of the Authorization header; undefined when there is none. */
  readonly token: string | undefined
  /** Identity of the verified TLS client certificate; `invalid` for a certificate that none of our CAs signed. */
  readonly certificate: UserInfo | 'invalid' | undefined
}

/** What a token says besides whose it is: warnings for the client that shows it, annotations for the audit log. */
export interface TokenNotes {
  warn(text: string): void
  annotate(key: string, value: string): void
}

export interface Authenticator {
  /**
   * Undefined: there were no credentials. `rejected`: there were some, and none was valid. A synchronous answer depends
   * on the credentials alone and is valid as long as the server runs; credentials that can be revoked yield a promise.
   */
  authenticate(
    credentials: Credentials,
    notes: TokenNotes,
  ): UserInfo | undefined | 'rejected' | Promise<UserInfo | undefined | 'rejected'>
}

/** Authenticates one kind of bearer token. `undefined`: not one of this kind. */
export type TokenAuthenticator = (token: string, notes: TokenNotes) => Promise<UserInfo | undefined>

export interface Verified {
  readonly user: UserInfo
  readonly audiences: readonly string[]
}

/**
 * Verifies a token for audiences. `undefined`: not one of this kind, or not for these audiences. A string: why it is
 * invalid.
 */
export type TokenVerifier = (
  token: string,
  audiences: readonly string[],
  notes: TokenNotes,
) => Promise<Verified | string | undefined>

/** Tokens without audiences are valid for those of this API. */
export const audienceAgnostic =
  (
    own: readonly string[],
    authenticate: (token: string, notes: TokenNotes) => Promise<UserInfo | string | undefined>,
  ): TokenVerifier =>
  async (token, audiences, notes) => {
    const common = audiences.filter((audience) => own.includes(audience))
    const user = common.length === 0 ? undefined : await authenticate(token, notes)
    return typeof user === 'object' ? { user, audiences: common } : user
  }

/** The user, or the errors of all verifiers that refused the token. */
export type UnionVerifier = (
  token: string,
  audiences: readonly string[],
  notes: TokenNotes,
) => Promise<Verified | readonly string[]>

/** Tries one verifier after the other. */
export const unionVerifier =
  (verifiers: readonly TokenVerifier[]): UnionVerifier =>
  async (token, audiences, notes) => {
    const problems: string[] = []
    for (const verify of verifiers) {
      const verified = await verify(token, audiences, notes)
      if (typeof verified === 'object') return verified
      if (verified !== undefined) problems.push(verified)
    }
    return problems
  }

/** Adds system:authenticated, the group of every authenticated user. */
export const withAuthenticatedGroup = (user: UserInfo): UserInfo =>
  user.groups.includes(authenticatedGroup) || user.groups.includes(unauthenticatedGroup)
    ? user
    : { ...user, groups: [...user.groups, authenticatedGroup] }

/** Tries the client certificate, then tokens that are known from the start, then other tokens, as upstream's union. */
export const unionAuthenticator = (
  known: (token: string) => UserInfo | undefined,
  others: TokenAuthenticator,
): Authenticator => ({
  authenticate({ token, certificate }, notes) {
    if (certificate !== undefined && certificate !== 'invalid') return certificate
    if (token === undefined) return certificate === 'invalid' ? 'rejected' : undefined
    return known(token) ?? others(token, notes).then((user) => user ?? 'rejected')
  },
})
