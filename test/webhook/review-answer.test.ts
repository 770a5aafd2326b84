import t from 'tap'
import { stringify } from '#json/json.js'
import { type Reply, reviewOf, type SentReview } from '#webhook/review-answer.js'

const apiVersion = 'apiextensions.k8s.io/v1'
const sent: SentReview = {
  group: 'apiextensions.k8s.io',
  kind: 'ConversionReview',
  review: { kind: 'ConversionReview', apiVersion },
}
const answered = (convertedObjects: string): Reply => ({
  code: 200,
  message: 'OK',
  type: 'application/json',
  text: `{"kind":"ConversionReview","apiVersion":"${apiVersion}","response":{"uid":"u","convertedObjects":${convertedObjects}}}`,
})

t.test('integers of converted objects stay what they are', (t) => {
  const { response } = reviewOf(
    answered('[{"a":9007199254740993,"b":[-9223372036854775808]}]'),
    sent,
  )
  t.match(
    stringify(response),
    '"convertedObjects":[{"a":9007199254740993,"b":[-9223372036854775808]}]',
  )
  t.end()
})

t.test('an answer that is no JSON, or deeper than any body, is refused in the words of Go', (t) => {
  const problem = (text: string) => `couldn't get version/kind; json parse error: ${text}`
  t.throws(() => reviewOf({ ...answered(''), text: ' {"a' }, sent), {
    message: problem('unexpected end of JSON input'),
  })
  t.throws(() => reviewOf(answered(`${'['.repeat(2_000)}${']'.repeat(2_000)}`), sent), {
    message: problem("invalid character '[' exceeded max depth"),
  })
  t.end()
})

t.test('an answer that is no JSON is read as YAML, whatever its type', (t) => {
  const ask = (text: string) => reviewOf({ ...answered(''), text }, sent)
  const head = `# by hand\napiVersion: ${apiVersion}\nkind: ConversionReview\n`
  t.match(
    ask(`${head}response: {uid: u, convertedObjects: [{a: 9007199254740993}]}\n---\nmore: 1`),
    {
      response: { uid: 'u', convertedObjects: [{ a: 9007199254740993n }] },
    },
  )
  const page = '<html>\n<head><title>502: Bad Gateway</title></head>'
  t.throws(() => ask(page), {
    message: 'yaml: line 2: mapping values are not allowed in this context',
  })
  t.throws(() => ask('not found'), { message: /^couldn't get version.kind; .* string into Go/ })
  t.end()
})
