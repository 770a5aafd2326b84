/** The links of a page that is shown through a proxy. Upstream: apimachinery, pkg/util/proxy/transport.go (rewriteHTML). */
import type { Transform, TransformCallback } from 'node:stream'
import type { RewritingStream } from 'parse5-html-rewriting-stream'
import { getOwn } from '#json/object.js'
import { limits } from '#limits'
import { type ProxiedPage, rewriteLink } from './proxied-page.js'

/** The attributes in which tags hold URLs. */
const linkNames: Readonly<Record<string, readonly string[]>> = {
  a: ['href'],
  applet: ['codebase'],
  area: ['href'],
  audio: ['src'],
  base: ['href'],
  blockquote: ['cite'],
  body: ['background'],
  button: ['formaction'],
  command: ['icon'],
  del: ['cite'],
  embed: ['src'],
  form: ['action'],
  frame: ['longdesc', 'src'],
  head: ['profile'],
  html: ['manifest'],
  iframe: ['longdesc', 'src'],
  img: ['longdesc', 'src', 'usemap'],
  input: ['src', 'usemap', 'formaction'],
  ins: ['cite'],
  link: ['href'],
  object: ['classid', 'codebase', 'data', 'usemap'],
  q: ['cite'],
  script: ['src'],
  source: ['src'],
  video: ['poster', 'src'],
}

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  "'": '&#39;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&#34;',
}
const escaped = (text: string): string => text.replace(/[&'<>"]/g, (char) => escapes[char]!)

type StartTag = Parameters<RewritingStream['emitStartTag']>[0]
type Place = NonNullable<StartTag['sourceCodeLocation']>
/** The package's types leave out that the parser says where attributes are, too. */
type TagPlace = Place & { readonly attrs?: Readonly<Record<string, Place>> }

/** `html` is the tag as it was read; all but its links stays as it was written. */
const withLinks = (html: string, tag: StartTag, page: ProxiedPage): string => {
  const { startOffset: begin, attrs } = tag.sourceCodeLocation as TagPlace
  let text = ''
  let copied = 0
  for (const { name, value } of tag.attrs) {
    const place = attrs?.[name]
    const link = getOwn(linkNames, tag.tagName)?.includes(name) ? rewriteLink(value, page) : value
    if (place === undefined || link === value) continue
    text += `${html.slice(copied, place.startOffset - begin)}${name}="${escaped(link)}"`
    copied = place.endOffset - begin
  }
  return text + html.slice(copied)
}

/**
 * A stream of text through which a page goes. It fails at a part (a text, a tag, a comment) that is too large: the parser
 * looks at all of a part again with each piece that comes, and the server would stand still.
 */
export const linkRewriter = async (page: ProxiedPage): Promise<Transform> => {
  const { RewritingStream } = await import('parse5-html-rewriting-stream')
  class LinkRewriter extends RewritingStream {
    #unseen = 0

    override _transform(chunk: string, encoding: string, done: TransformCallback): void {
      this.#unseen += chunk.length
      if (this.#unseen <= limits.pagePartLengthMax) super._transform(chunk, encoding, done)
      else done(new Error(`a part of the page is longer than ${limits.pagePartLengthMax}`))
    }
    override emitRaw(html: string): void {
      this.#unseen = 0
      super.emitRaw(html)
    }
  }
  const stream = new LinkRewriter()
  stream.on('startTag', (tag, html) => stream.emitRaw(withLinks(html, tag, page)))
  return stream
}
