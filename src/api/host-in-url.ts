/** An address of IPv6 stands in brackets in a URL. */
export const hostInUrl = (host: string): string => (host.includes(':') ? `[${host}]` : host)
