/** Names of images as github.com/distribution/reference v0.6.0 takes and refuses them. */
import t from 'tap'
import { parseImageName } from '#kubelet/images/image-name.js'

const hex = 'ab'.repeat(32)
const notLower = (name: string) =>
  `invalid reference format: repository name (${name}) must be lowercase`
const format = 'invalid reference format'

t.test('a name gets the tag latest where it has neither tag nor digest', async (t) => {
  const taken = [
    ...['root', 'user/repo', 'url:5000/repo', 'Host/repo', 'localhost/x', '[::1]:5000/x'],
    ...['index.docker.io/x', 'a__b/c--d.e'],
  ]
  for (const name of taken) t.same(parseImageName(name), { image: `${name}:latest` })
  const complete = [
    ...['root:tag', 'url:5000/repo:tag', 'localhost:5000/x:Y_1.2-3', `root@sha256:${hex}`],
    ...[`url:5000/repo:latest@sha256:${hex}`, `a.b/c_d@sha256:${hex}`],
  ]
  for (const name of complete) t.same(parseImageName(name), { image: name })
})

t.test('what is no name is refused in its words', async (t) => {
  const refused: Readonly<Record<string, string>> = {
    ROOT: notLower('library/ROOT'),
    'host/Repo:x': notLower('host/Repo'),
    [`x@SHA256:${hex}`]: notLower('library/x@SHA256'),
    [hex]: `invalid repository name (${hex}), cannot specify 64-byte hexadecimal strings`,
    [`x@sha256:${hex.slice(24)}`]: 'invalid checksum digest length',
    [`x@md5:${hex}`]: 'unsupported digest algorithm',
    [`x@sha256:${hex.toUpperCase()}`]: 'invalid checksum digest format',
    [`q.io/${'r'.repeat(256)}`]: 'repository name must not be more than 255 characters',
  }
  for (const name of ['http://root', 'a b', 'a//b', '/a', 'a/', 'x:', 'x:-t', 'a___b', 'x:t:u'])
    t.match(parseImageName(name), { problem: `"${name}": ${format}` })
  for (const [name, why] of Object.entries(refused))
    t.same(parseImageName(name), { problem: `couldn't parse image name "${name}": ${why}` })
  const problem = String.raw`couldn't parse image name "a\a\u200b": ${format}`
  t.same(parseImageName('a\u0007\u200b'), { problem }, 'quoted as by %q')
})
