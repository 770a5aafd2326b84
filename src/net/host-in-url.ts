/** A host as a URL has it: an IPv6 address stands in brackets. */
export const hostInUrl = (host: string): string => (host.includes(':') ? `[${host}]` : host)
