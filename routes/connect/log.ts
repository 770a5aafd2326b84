/** log: what a container has said, as its node has it; over WebSocket as messages. */
import type { IncomingMessage } from 'node:http'
import { fitsRoute, notAcceptable } from '#api/accept.js'
import { badRequest, failure } from '#api/errors.js'
import { limits } from '#limits'
import { readStart } from '#net/read-start.js'
import { mediaTypes, negotiateLog, notConvertible } from '../answers/negotiation.js'
import { forward } from '../forward.js'
import { webSocketOf } from '../websocket.js'
import { type Connection, read } from './connection.js'
import { kubeletOfPod, path, toKubelet } from './kubelet-address.js'
import { sendLogMessages } from './log-messages.js'
import { logQuery } from './log-options.js'
import { containerOf } from './pod-container.js'

const logTypes = ['text/plain', ...mediaTypes]

export const log = async (c: Connection): Promise<unknown> => {
  const { target, request, reply } = c
  const { accept } = request.headers
  if (!fitsRoute(accept, logTypes)) throw notAcceptable(logTypes)
  const { convert } = negotiateLog(accept)
  const query = logQuery(target.name, c.query)
  const pod = await read(c, 'pods', target.name)
  const container = containerOf(pod, c.query.text('container'))
  const { nodeName } = pod.spec
  const base = nodeName ? await kubeletOfPod(c, nodeName) : undefined
  if (convert === 'PartialObjectMetadata')
    throw failure({ code: 500, message: 'object does not implement the Object interfaces' })
  if (convert === 'PartialObjectMetadataList')
    throw notConvertible(convert, 'is not a list', '*rest.LocationStreamer')
  // No container has run yet: upstream answers 204 without a body.
  if (base === undefined) return reply.code(204).send()
  const rest = path('containerLogs', target.namespace ?? '', target.name, container)
  const upgrade = webSocketOf(request, c.deps)
  const skipVerify = c.query.flag('insecureSkipTLSVerifyBackend')
  return forward(toKubelet(c, base, { rest, query, skipVerify }), request, reply, {
    headers: {},
    refuse: (answer) => ((answer.statusCode ?? 0) >= 400 ? refusalOf(answer) : undefined),
    ...(upgrade && { take: (answer) => sendLogMessages(answer, request, reply, upgrade) }),
  })
}

/** A kubelet that refuses says why in plain text; clients of the API get a Status. */
const refusalOf = async (answer: IncomingMessage): Promise<Error> => {
  const code = answer.statusCode!
  const text = (await readStart(answer, limits.refusalBytesMax)).trim()
  return code === 400
    ? badRequest(text)
    : failure({ code, message: text || `the server returned ${code}` })
}
