/** Static bearer tokens from a CSV: `token,user,uid,"group1,group2"`, as kube-apiserver's --token-auth-file. */
import { createHash } from 'node:crypto'
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
    const fields = splitCsvLine(line)
    const [token = '', name = '', uid = '', groups = ''] = fields
    const where = `token auth file ${fileName}, line ${at + 1}`
    if (token === '') throw new Error(`${where}: the token is empty`)
    if (fields.length < 3) throw new Error(`${where}: token, user name and user uid are needed`)
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

const digest = (token: string): string => createHash('sha256').update(token).digest('base64')

/** Of several users of a token the last one counts. Tokens are found by their digests, so that the time tells nothing of them. */
export const staticTokenAuthenticator = (
  tokens: readonly StaticToken[],
): ((token: string) => UserInfo | undefined) => {
  const known = new Map(
    tokens.map(({ token, user }) => [digest(token), withAuthenticatedGroup(user)]),
  )
  return (token) => known.get(digest(token))
}
