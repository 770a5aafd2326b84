/** The host of a URL as sockets take it: an address of IPv6 without its brackets. */
export const urlHost = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, '')
