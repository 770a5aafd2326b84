/** A pod's own resolver (kubernetes, core/validation: validatePodDNSConfig). */

import { each } from '#api/each.js'
import { child, type FieldError, index, invalid, invalidEach, required } from '#api/field-error.js'
import { isDns1123SubdomainWithUnderscore } from '#api/names.js'
import type { Fields } from '#api/object.js'
import { validIp } from '../network.js'

// What libc's resolver takes.
const nameserversMax = 3
const searchesMax = 32
const searchCharactersMax = 2048

const searchErrors = (search: string, path: string): FieldError[] => {
  if (search === '.') return []
  const name = search.endsWith('.') ? search.slice(0, -1) : search
  return invalidEach(path, name, isDns1123SubdomainWithUnderscore(name))
}

export const validDnsConfig = (path: string, { dnsConfig, dnsPolicy }: Fields): FieldError[] => {
  const servers: string[] = dnsConfig?.nameservers ?? []
  const at = (field: string) => child(path, field)
  if (dnsPolicy === 'None' && dnsConfig === undefined)
    return [required(path, 'must provide `dnsConfig` when `dnsPolicy` is None')]
  if (dnsPolicy === 'None' && servers.length === 0)
    return [
      required(
        at('nameservers'),
        'must provide at least one DNS nameserver when `dnsPolicy` is None',
      ),
    ]
  if (dnsConfig === undefined) return []
  const searches: string[] = dnsConfig.searches ?? []
  const errors: FieldError[] = []
  if (servers.length > nameserversMax)
    errors.push(
      invalid(at('nameservers'), servers, `must not have more than ${nameserversMax} nameservers`),
    )
  errors.push(...each(at('nameservers'), servers, (server, i) => validIp(i, server)))
  if (searches.length > searchesMax)
    errors.push(
      invalid(at('searches'), searches, `must not have more than ${searchesMax} search paths`),
    )
  if (Buffer.byteLength(searches.join(' ')) > searchCharactersMax)
    errors.push(
      invalid(
        at('searches'),
        searches,
        `must not have more than ${searchCharactersMax} characters (including spaces) in the search list`,
      ),
    )
  return [
    ...errors,
    ...each(at('searches'), searches, searchErrors),
    ...((dnsConfig.options ?? []) as Fields[]).flatMap((option, i) =>
      option.name ? [] : [required(index(at('options'), i), 'must not be empty')],
    ),
  ]
}
