import http from 'node:http'
import t from 'tap'
import { dialOptions } from '#net/dial-options.js'
import { listen } from '../listen.js'

t.test('an address that has answered is not given up because this process is busy', async (t) => {
  const port = await listen(
    t,
    http.createServer((_, answer) => void answer.end('x')),
  )
  const addresses = [
    { address: '127.0.0.1', family: 4 },
    { address: '::1', family: 6 },
  ]
  const code = await new Promise((resolve, reject) => {
    http
      .get(
        {
          ...dialOptions,
          host: 'two',
          port,
          agent: false,
          lookup: (_name, options, done) =>
            options.all ? done(null, addresses) : done(null, '127.0.0.1', 4),
        },
        (answer) => resolve(answer.resume().statusCode),
      )
      .on('error', reject)
    setImmediate(() => {
      // Like a large list, or a collection of garbage.
      const until = performance.now() + 400
      while (performance.now() < until);
    })
  })
  t.equal(code, 200)
})
