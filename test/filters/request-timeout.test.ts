import t from 'tap'
import { requestTimeout } from '#filters/request-timeout.js'

/** What a client's wish for a list is taken for by a server that answers everything within `longestMs`. */
const timeoutOf = (longestMs: number, wish: string): number | undefined => {
  const kube: { info: object; timeoutMs?: number } = {
    info: { verb: 'list', subresource: '', isResourceRequest: true },
  }
  const request = { url: `/api/v1/pods?timeout=${wish}`, kube }
  void requestTimeout(longestMs)(request as never, {} as never)
  return kube.timeoutMs
}

t.test('a client may ask for less time than the server gives, whatever that is', async (t) => {
  t.equal(timeoutOf(60_000, '30s'), 30_000)
  t.equal(timeoutOf(60_000, '2m'), undefined)
  t.equal(timeoutOf(600_000, '2m'), 120_000)
  t.equal(timeoutOf(20_000, '30s'), undefined)
  t.equal(timeoutOf(600_000, '0s'), undefined)
})
