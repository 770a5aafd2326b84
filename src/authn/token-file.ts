/** Static bearer tokens from a CSV: `token,user,uid,"group1,group2"`, as kube-apiserver's --token-auth-file. */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { UserInfo } from '#api/user-info.js'
import { withAuthenticatedGroup } from './authenticator.js'

export interface StaticToken {
  readonly token: string
  readonly user: UserInfo
}

/** Fields of one CSV line; quotes may hold commas, a doubled quote is a quote. */
const splitCsvLine = (line: string): string[] => {
  const fields: string[] = []
  let field = ''
  let quoted = false
  for (let i = 0; i < line.length; i++) {
    const char = line[i]!
    if (quoted) {
      if (char !== '"') field += char
      else if (line[i + 1] === '"') field += line[++i]
      else quoted = false
    } else if (char === '"') quoted = true
    else if (char === ',') {
      fields.push(field)
      field = ''
    } else field += char
  }
  return [...fields, field]
}

/** Throws an Error whose message names the line. */
export const parseTokenCsv = (text: string, fileName: string): StaticToken[] => {
  const tokens: StaticToken[] = []
  for (const [at, line] of text.split(/\r?\n/).entries()) {
    if (line.trim() === '' || line.startsWith('#')) continue
    const [token = '', name = '', uid = '', groups = ''] = splitCsvLine(line)
    const where = `token auth file ${fileName}, line ${at + 1}`
    if (token === '') throw new Error(`${where}: the token is empty`)
    if (line.split(',').length < 3)
      throw new Error(`${where}: token, user name and user uid are needed`)
    const named = groups.split(',').map((group) => group.trim())
    tokens.push({
      token,
      user: {
        name: name.trim(),
        ...(uid.trim() === '' ? {} : { uid: uid.trim() }),
        groups: named.filter((group) => group !== ''),
      },
    })
  }
  return tokens
}

const digest = (token: string): Buffer => createHash('sha256').update(token).digest()

/** Compares digests of all tokens in constant time, so that the time reveals nothing about them. */
export const staticTokenAuthenticator = (
  tokens: readonly StaticToken[],
): ((token: string) => UserInfo | undefined) => {
  const known = tokens.map(({ token, user }) => ({
    digest: digest(token),
    user: withAuthenticatedGroup(user),
  }))
  return (token) => {
    const shown = digest(token)
    let found: UserInfo | undefined
    for (const entry of known) if (timingSafeEqual(entry.digest, shown)) found ??= entry.user
    return found
  }
}
