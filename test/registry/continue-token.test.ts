/** Continue tokens that no list gave: answers of kube-apiserver v1.36. */
import t from 'tap'
import { ApiError } from '#api/errors.js'
import { decodeContinue, encodeContinue } from '#registry/continue-token.js'
import { seededRandom } from '../seeded-random.js'

const encode = (text: string): string => Buffer.from(text).toString('base64url')
const read = (token: string): unknown => {
  try {
    return decodeContinue(token, '/registry/configmaps/x/')
  } catch (error) {
    if (error instanceof ApiError && error.code === 400)
      return error.message.replace(/^invalid continue token: continue key is not valid: /, '')
    throw error
  }
}

t.test('a token is read as encoding/json reads it, and refused in its words', (t) => {
  const here = { revision: -1, startKey: '/registry/configmaps/x/a' }
  for (const [token, answer] of [
    [encode('{"v":"meta.k8s.io/v1","rv":-1,"start":"a"}'), here],
    [encode('{"V":"meta.k8s.io/v1","RV":-1,"Start":"a","x":1}'), here],
    [`${encode('{"v":"meta.k8s.io/v1","rv":-1,"start":"a"}')}\n`, here],
    ['AAAAA', 'illegal base64 data at input byte 4'],
    ['AA=', 'illegal base64 data at input byte 2'],
    [
      encode('{"v":"meta.k8s.io/v1","rv":"5","start":"a"}'),
      'json: cannot unmarshal string into Go struct field continueToken.rv of type int64',
    ],
    [
      encode('{"v":"meta.k8s.io/v1","rv":1.5,"start":"a"}'),
      'json: cannot unmarshal number 1.5 into Go struct field continueToken.rv of type int64',
    ],
    ...['1e1', '10.0', '1e400', '9223372036854775808'].map(
      (rv) =>
        [
          encode(`{"v":"meta.k8s.io/v1","rv":${rv},"start":"a"}`),
          `json: cannot unmarshal number ${rv} into Go struct field continueToken.rv of type int64`,
        ] as const,
    ),
    [encode('{"v":"meta.k8s.io/v1","rv":-1,"start":"a","rv":null}'), here],
    [
      encode('{"v":"meta.k8s.io/v1","rv":1e0,"start":"a","rv":-1}'),
      'json: cannot unmarshal number 1e0 into Go struct field continueToken.rv of type int64',
    ],
    [
      encode('{"v":"meta.k8s.io/v1","rv":5,"start":1}'),
      'json: cannot unmarshal number into Go struct field continueToken.start of type string',
    ],
    [encode('[]'), 'json: cannot unmarshal array into Go value of type storage.continueToken'],
    [encode('5'), 'json: cannot unmarshal number into Go value of type storage.continueToken'],
    [encode(''), 'unexpected end of JSON input'],
    [encode('{"v":'), 'unexpected end of JSON input'],
    [encode('x'), "invalid character 'x' looking for beginning of value"],
    [
      Buffer.from([0x80]).toString('base64url'),
      String.raw`invalid character '\u0080' looking for beginning of value`,
    ],
    [
      Buffer.from([0xe9]).toString('base64url'),
      "invalid character 'é' looking for beginning of value",
    ],
    [encode('null'), 'server does not recognize this encoded version '],
    [
      encode('{"v":"meta.k8s.io/v1"}'),
      'incorrect encoded start resourceVersion (version meta.k8s.io/v1)',
    ],
  ] as const)
    t.same(read(token), answer, token)
  t.end()
})

t.test('a list goes on where it ended, whatever the names', async (t) => {
  const random = seededRandom(1)
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!
  const word = (): string =>
    Array.from({ length: 1 + Math.floor(random() * 4) }, () =>
      pick(['a', 'é', '😀', '<', '"', '\\', '-', ' ', '%']),
    ).join('')
  const prefix = '/registry/x/'
  const wrong: unknown[] = []
  for (let i = 0; i < 1_000; i++) {
    const name = random() < 0.5 ? word() : `${word()}/${word()}`
    const token = { revision: pick([-1, 1, 2 ** 40]), startKey: `${prefix}${name}\0` }
    const read = decodeContinue(encodeContinue(token, prefix), prefix)
    if (read.revision !== token.revision || read.startKey !== token.startKey) wrong.push(token)
  }
  t.same(wrong, [])
})
