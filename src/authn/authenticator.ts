/** Authenticators: credentials in, a user out. */
import type { UserInfo } from '#api/user-info.js'

export interface Credentials {
  /** The bearer token of the Authorization header; undefined when there is none. */
  readonly token: string | undefined
  /** Verified identity of the TLS client certificate; `invalid` when one was shown that no CA of ours signed. */
  readonly certificate: UserInfo | 'invalid' | undefined
}

/** What a token says beside whose it is: to who shows it, and to the audit log. */
export interface TokenNotes {
  warn(text: string): void
  annotate(key: string, value: string): void
}

export interface Authenticator {
  /**
   * Undefined: no credentials were shown. `rejected`: some were, and none of them held. An answer that is no promise
   * depends on nothing but the credentials: it holds as long as the server runs. What can be revoked is a promise.
   */
  authenticate(
    credentials: Credentials,
    notes: TokenNotes,
  ): UserInfo | undefined | 'rejected' | Promise<UserInfo | undefined | 'rejected'>
}

/** One kind of bearer token. `undefined`: not mine. */
export type TokenAuthenticator = (token: string, notes: TokenNotes) => Promise<UserInfo | undefined>

export interface Verified {
  readonly user: UserInfo
  readonly audiences: readonly string[]
}

/** Tokens that are good for audiences. `undefined`: not mine, or good for none of these; a text says why it is not. */
export type TokenVerifier = (
  token: string,
  audiences: readonly string[],
  notes: TokenNotes,
) => Promise<Verified | string | undefined>

/** What says nothing of audiences is good for those of this API. */
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

/** Who it is, or why each of those that knew the token refused it. */
export type UnionVerifier = (
  token: string,
  audiences: readonly string[],
  notes: TokenNotes,
) => Promise<Verified | readonly string[]>

/** Asks one after the other. */
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

/** Every authenticated user belongs to system:authenticated, whoever vouches for it. */
export const withAuthenticatedGroup = (user: UserInfo): UserInfo =>
  user.groups.includes('system:authenticated') || user.groups.includes('system:unauthenticated')
    ? user
    : { ...user, groups: [...user.groups, 'system:authenticated'] }

/** Client certificate first, then tokens that are known from the start, then the others: as upstream's union. */
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
