/** Definitions come and go a moment after they are written. */
import type { Sweep } from '../sweep.js'
import type { Request } from '../target.js'
import { widgetDefinition, widgetKind } from './random-objects.js'

const triesMax = 100
const pauseMs = 100

const until = async (sweep: Sweep, request: Request, code: number): Promise<void> => {
  for (let tries = 0; tries < triesMax; tries++) {
    const { server, against } = await sweep.prepare(request)
    if (server.code === code && against.code === code) return
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
  throw new Error(`${request.method} ${request.path} is not answered with ${code}`)
}

export const awaitServed = (sweep: Sweep, path: string): Promise<void> =>
  until(sweep, { method: 'GET', path }, 200)

const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const path = `${definitions}/${widgetDefinition.metadata.name}`

/** Widgets are served while the work is done. What a run that was cut has left goes first. */
export const withWidgets = async (sweep: Sweep, work: () => Promise<void>): Promise<void> => {
  await sweep.prepare({ method: 'DELETE', path })
  await until(sweep, { method: 'GET', path }, 404)
  await sweep.prepare({ method: 'POST', path: definitions, body: widgetDefinition })
  await awaitServed(sweep, widgetKind.collection)
  await work()
  await sweep.prepare({ method: 'DELETE', path })
}
