/** Headers of which every value counts on its own: Node joins them with commas. */
import type { FastifyRequest } from 'fastify'

/** Bytes beyond ASCII are UTF-8, of which Node makes a character each. */
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

/** Of a header's name, the rest behind a prefix: any text is sent there percent-encoded. */
export const unescapeKey = (key: string): string => {
  try {
    return decodeURIComponent(key)
  } catch {
    return key
  }
}
