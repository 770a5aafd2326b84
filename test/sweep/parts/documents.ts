/** Discovery and OpenAPI, part by part. */
import type { Part, Sweep } from '../sweep.js'
import { type Answer, type Request, read } from '../target.js'

const aggregated = 'application/json;as=APIGroupDiscoveryList;v=v2;g=apidiscovery.k8s.io'

/** As many levels of a document as hold parts that stand for themselves: definitions, paths. */
const levels = 2

const partsOf = (value: unknown, place: string, level: number): Map<string, unknown> => {
  if (level === 0 || typeof value !== 'object' || value === null) return new Map([[place, value]])
  return new Map(
    Object.entries(value).flatMap(([key, inner]) => [
      ...partsOf(inner, `${place}/${key}`, level - 1),
    ]),
  )
}

const partOf = (answer: Answer): Map<string, unknown> => {
  try {
    return partsOf(JSON.parse(answer.text), '', levels)
  } catch {
    return new Map([['', answer.text]])
  }
}

/** The order of keys says nothing there, as the writers of schemas differ in it; and prose is left out. */
const inOrder = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(inOrder)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).filter(
    ([key, inner]) => key !== 'description' || typeof inner !== 'string',
  )
  return Object.fromEntries(entries.sort().map(([key, inner]) => [key, inOrder(inner)]))
}

const compareParts = async (sweep: Sweep, request: Request): Promise<void> => {
  const { server, against } = await sweep.prepare(request)
  if (server.code !== 200 || against.code !== 200)
    return sweep.note({ where: request.path, request }, { server, against })
  const [ours, theirs] = [partOf(server), partOf(against)]
  const answerOf = (answer: Answer, parts: Map<string, unknown>, place: string): Answer => ({
    ...answer,
    text: JSON.stringify(inOrder(parts.get(place))) ?? '',
  })
  for (const place of new Set([...theirs.keys(), ...ours.keys()]))
    sweep.note(
      { where: `${request.path} ${place}`, request },
      {
        server: answerOf(server, ours, place),
        against: answerOf(against, theirs, place),
      },
    )
}

export const documents: Part = {
  name: 'documents',
  play: async (sweep) => {
    const { paths } = await read(sweep.against, '/openapi/v3')
    const { groups } = await read(sweep.against, '/apis')
    const versions = (groups as { versions: { groupVersion: string }[] }[]).flatMap((group) =>
      group.versions.map(({ groupVersion }) => `/apis/${groupVersion}`),
    )
    for (const path of ['/openapi/v2', '/api', '/apis', '/api/v1', '/', ...versions])
      await compareParts(sweep, { method: 'GET', path })
    for (const path of ['/api', '/apis'])
      await compareParts(sweep, { method: 'GET', path, headers: { accept: aggregated } })
    for (const path of Object.keys(paths))
      await compareParts(sweep, { method: 'GET', path: `/openapi/v3/${path}` })
  },
}
