/** Headers with several values, which Node would join with commas. */
import type { FastifyRequest } from 'fastify'
import { addToList } from '#collections/add-to-list.js'
import { pathUnescape } from '#go/path-unescape.js'

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

/**
 * The values of all headers whose names begin so, by what follows, which is percent-encoded. They are gathered in one
 * pass: a client may send tens of thousands of them, and looking for each among all would take the square of that.
 */
export const valuesByKey = (
  { raw: { rawHeaders } }: FastifyRequest,
  prefix: string,
): ReadonlyMap<string, readonly string[]> => {
  const found = new Map<string, string[]>()
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!.toLowerCase()
    if (!name.startsWith(prefix)) continue
    const key = name.slice(prefix.length)
    addToList(found, pathUnescape(key) ?? key, textOf(rawHeaders[i + 1]!))
  }
  return found
}
