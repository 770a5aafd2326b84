/** Definitions come and go a moment after they are written. */
import type { Sweep } from '../sweep.js'
import type { Answer, Request } from '../target.js'
import { widgetDefinition, widgetKind } from './random-objects.js'

const triesMax = 100
const pauseMs = 100

export const until = async (
  sweep: Sweep,
  request: Request,
  isWanted: (answer: Answer) => boolean,
): Promise<void> => {
  for (let tries = 0; tries < triesMax; tries++) {
    const { server, against } = await sweep.prepare(request)
    if (isWanted(server) && isWanted(against)) return
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
  throw new Error(`${request.method} ${request.path} is not answered as it should be`)
}

export const awaitServed = (sweep: Sweep, path: string): Promise<void> =>
  until(sweep, { method: 'GET', path }, ({ code }) => code === 200)

export const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
/** Of the resources in `plural`, which ends in an s. */
export const kindOf = (plural: string): string =>
  `${plural[0]!.toUpperCase()}${plural.slice(1, -1)}`

const path = `${definitions}/${widgetDefinition.metadata.name}`

/** Widgets are served while the work is done. What a run that was cut has left goes first. */
export const withWidgets = async (sweep: Sweep, work: () => Promise<void>): Promise<void> => {
  await sweep.prepare({ method: 'DELETE', path })
  await until(sweep, { method: 'GET', path }, ({ code }) => code === 404)
  await sweep.prepare({ method: 'POST', path: definitions, body: widgetDefinition })
  await awaitServed(sweep, widgetKind.collection)
  await work()
  await sweep.prepare({ method: 'DELETE', path })
}
