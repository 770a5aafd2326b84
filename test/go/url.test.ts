import t from 'tap'
import { goQuote } from '#go/quote.js'
import { parseRequestUri, parseUrl } from '#go/url.js'

/** What Go 1.26 says of them, after `parse "…": `. */
const refused: readonly (readonly [string, string])[] = [
  ['https://[::1', "missing ']' in host"],
  [
    'https://[::g]/',
    'invalid host: ParseAddr("::g"): each colon-separated field must have at least one digit (at "g")',
  ],
  ['https://[1.2.3.4]/', 'invalid IP-literal'],
  ['https://a[::1]', 'invalid IP-literal'],
  ['https://[::1%25]', 'invalid host: ParseAddr("::1%"): zone must be a non-empty string'],
  ['https://a:b', 'invalid port ":b" after host'],
  ['https://[::1]80', 'invalid port "80" after host'],
  ['https://a:1:2', 'invalid port ":1:2" after host'],
  ['https://a%20b/', 'invalid URL escape "%20"'],
  ['https://a b/', 'invalid character " " in host name'],
  ['https://a/%2é', 'invalid URL escape "%2\\xc3"'],
  ['https://u%4:p@a', 'invalid URL escape "%4"'],
  ['https://ü@a', 'net/url: invalid userinfo'],
  ['a:b/c\u007f', 'net/url: invalid control character in URL'],
  [':a', 'missing protocol scheme'],
  ['1a:b', 'first path segment in URL cannot contain colon'],
]

t.test('a URL that Go does not read is refused in its words', (t) => {
  for (const [text, why] of refused) t.equal(parseUrl(text), `parse ${goQuote(text)}: ${why}`)
  t.equal(parseRequestUri(''), 'parse "": empty url')
  t.equal(parseRequestUri('a/b'), 'parse "a/b": invalid URI for request')
  t.equal(parseUrl('https://a/#%'), 'parse "https://a/#%": invalid URL escape "%"')
  t.end()
})

t.test('a URL has the parts that Go finds in it', (t) => {
  t.match(parseUrl('HTTPS://u:p@[fe80::1%25en%20]:80/a%20b?q?r#f'), {
    scheme: 'https',
    user: 'u:p',
    host: '[fe80::1%en ]:80',
    path: '/a%20b',
    query: 'q?r',
    fragment: 'f',
  })
  t.match(parseUrl('mailto:a@b'), { scheme: 'mailto', opaque: 'a@b', user: undefined, host: '' })
  t.match(parseUrl('x://a:1:2/'), { host: 'a:1:2' }, 'only what is spoken over HTTP has one port')
  t.match(parseUrl('//a/b'), { host: 'a', path: '/b' })
  t.match(parseRequestUri('//a/b'), { host: '', path: '//a/b' })
  t.match(parseRequestUri('/a#b'), { path: '/a#b', fragment: '' })
  t.match(parseUrl('https://@a'), { user: '' })
  t.end()
})
