/** Headers with several values, which Node would join with commas. */
import type { FastifyRequest } from 'fastify'

/** Node makes a character of each byte; bytes beyond ASCII are UTF-8. */
const textOf = (value: string): string => Buffer.from(value, 'latin1').toString('utf8')

/** In the order in which they came; `name` in lower case. */
export const headerValues = ({ raw }: FastifyRequest, name: string): string[] => {
  if (raw.headers[name] === undefined) return []
  const { rawHeaders } = raw
  const found: string[] = []
  for (let i = 0; i < rawHeaders.length; i += 2)
    if (rawHeaders[i]!.toLowerCase() === name) found.push(textOf(rawHeaders[i + 1]!))
  return found
}

/** Decodes the part of a header's name behind a prefix, which is percent-encoded. */
export const unescapeKey = (key: string): string => {
  try {
    return decodeURIComponent(key)
  } catch {
    return key
  }
}
