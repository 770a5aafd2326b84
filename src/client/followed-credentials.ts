/** Credentials whose files change while they are used: tokens and certificates last for hours (client-go, transport). */
import { readFileSync } from 'node:fs'
import tls from 'node:tls'
import { limits } from '#limits'
import type { ClientCredentials } from '#net/client-credentials.js'

type Followed = ClientCredentials & { readonly ca?: string }

const read = (file: string): string | undefined => {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}

/** A certificate that is not that of the key yet: the other file is still to be written. */
const fit = (texts: { ca?: string; cert?: string; key?: string }): boolean => {
  try {
    tls.createSecureContext(texts)
    return true
  } catch {
    return false
  }
}

/** What the files say now, as far as it can be used; the same object if that is nothing new. */
const reread = <C extends Followed>(known: C): C => {
  const { files = {} } = known
  const texts: { ca?: string; cert?: string; key?: string } = {}
  for (const part of ['ca', 'cert', 'key'] as const) {
    const text = files[part] && read(files[part])
    if (text) texts[part] = text
  }
  const isNew = (['ca', 'cert', 'key'] as const).some(
    (part) => texts[part] !== undefined && texts[part] !== known[part],
  )
  const token = (files.token && read(files.token))?.trim() || known.token
  if (!isNew && token === known.token) return known
  return { ...known, ...(isNew && fit(texts) ? texts : {}), ...(token ? { token } : {}) }
}

/** They are read again when they are asked for, but not each time. */
export const followCredentials = <C extends Followed>(
  credentials: C,
  rereadMs: number = limits.credentialsRereadMs,
): (() => C) => {
  if (credentials.files === undefined) return () => credentials
  let known = credentials
  let readAt = performance.now()
  return () => {
    const now = performance.now()
    if (now - readAt >= rereadMs) {
      readAt = now
      known = reread(known)
    }
    return known
  }
}
