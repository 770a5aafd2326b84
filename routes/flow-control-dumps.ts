/** /debug/api_priority_and_fairness/…: tables as text, whatever the method and the media type that is asked for. */
import { Readable } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import { Query } from '#registry/query.js'

interface FlowControlDumps {
  levels(): string
  /** In pieces. */
  queues(): AsyncIterable<string>
  requests(withDetails: boolean): string
}

const folder = '/debug/api_priority_and_fairness'

export const installFlowControlDumps = (app: FastifyInstance, dumps: FlowControlDumps): void => {
  const pages: Readonly<Record<string, (query: Query) => string | Readable>> = {
    dump_priority_levels: () => dumps.levels(),
    dump_queues: () => Readable.from(dumps.queues()),
    dump_requests: (query) => dumps.requests(query.text('includeRequestDetails') !== ''),
  }
  for (const [name, page] of Object.entries(pages))
    app.all(`${folder}/${name}`, (request, reply) =>
      reply.header('content-type', 'text/plain; charset=utf-8').send(page(new Query(request.url))),
    )
}
