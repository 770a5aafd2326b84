/** Makes a request smaller as long as it shows what it showed. */
import type { Request } from './target.js'

type Path = readonly (string | number)[]

/** Places of a body, the large ones first. */
const placesOf = (value: unknown, at: Path = []): Path[] => {
  if (typeof value !== 'object' || value === null) return []
  const keys = Array.isArray(value) ? value.map((_, i) => i) : Object.keys(value)
  const inner = keys.map((key) => [...at, key])
  return [
    ...inner,
    ...inner.flatMap((path) =>
      placesOf((value as Record<string | number, unknown>)[path.at(-1)!], path),
    ),
  ]
}

const without = (body: unknown, path: Path): unknown => {
  const copy = structuredClone(body)
  // biome-ignore lint/suspicious/noExplicitAny: a walk into JSON
  let at = copy as any
  for (const key of path.slice(0, -1)) at = at?.[key]
  if (typeof at !== 'object' || at === null) return undefined
  const last = path.at(-1)!
  if (!(last in at)) return undefined
  if (Array.isArray(at)) at.splice(Number(last), 1)
  else delete at[last]
  return copy
}

const triesMax = 80

export const shrink = async (
  request: Request,
  stillShows: (request: Request) => Promise<boolean>,
): Promise<Request> => {
  if (typeof request.body !== 'object' || request.body === null) return request
  let smallest = request
  let tries = 0
  for (const path of placesOf(request.body)) {
    const body = without(smallest.body, path)
    if (body === undefined) continue
    if (tries++ === triesMax) break
    const smaller = { ...request, body }
    if (await stillShows(smaller)) smallest = smaller
  }
  return smallest
}
