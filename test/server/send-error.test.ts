/** Which errors that no handler has answered are told as mistakes of ours. */
import fastify from 'fastify'
import t from 'tap'
import { errorSender } from '#server/port/send-error.js'

t.test('what is given up because its client has gone is none', async (t) => {
  const reported: string[] = []
  const app = fastify()
  app.setErrorHandler(errorSender(({ url }) => reported.push(url)))
  app.get<{ Params: { client: string } }>('/:client', (request) => {
    const kube = { isOver: request.params.client === 'gone' }
    Object.assign(request, { kube })
    throw new DOMException('This operation was aborted', 'AbortError')
  })
  for (const url of ['/gone', '/there']) t.equal((await app.inject(url)).statusCode, 500)
  t.same(reported, ['/there'])
})
