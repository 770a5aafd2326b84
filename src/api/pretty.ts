const humans = /^(?:curl|Wget|Mozilla\/5\.0)/

interface Asking {
  readonly url?: string | undefined
  readonly headers: { readonly 'user-agent'?: string | undefined }
}

/** Whether JSON is indented: `asked` for by its type or by the query, or the client is curl, wget or a browser. */
export const isPretty = (asked: boolean, { url = '', headers }: Asking): boolean => {
  if (url.includes('pretty')) {
    const value = new URLSearchParams(url.slice(url.indexOf('?') + 1)).get('pretty')
    if (value) return /^(?:1|t|T|TRUE|true|True)$/.test(value) || asked
  }
  return asked || humans.test(headers['user-agent'] ?? '')
}
