/** Who asks. Made by an authenticator, replaced by impersonation, read by authorizers, admission and audit. */
export interface UserInfo {
  readonly name: string
  readonly uid?: string
  readonly groups: readonly string[]
  readonly extra?: Readonly<Record<string, readonly string[]>>
}

export const anonymousUser: UserInfo = {
  name: 'system:anonymous',
  groups: ['system:unauthenticated'],
}
