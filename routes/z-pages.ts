/**
 * /statusz and /flagz: which server this is and how it was started, as text for people or, for clients that ask for
 * `as=Statusz` or `as=Flagz` of config.k8s.io, as an object. Upstream: component-base/zpages.
 */
import type { FastifyInstance, RouteHandler } from 'fastify'
import { formatTime } from '#api/clock.js'
import type { JsonObject } from '#json/value.js'
import { formatYaml } from '#registry/encode/yaml.js'
import { asksForKind, parseAccept } from './answers/accept.js'
import { notAcceptable } from './answers/negotiation.js'
import { jsonFor } from './answers/respond.js'

interface ZPageSources {
  /** Milliseconds since the epoch. */
  readonly startedAt: number
  readonly goVersion: string
  /** `1.36.3` */
  readonly binaryVersion: string
  /** `1.36` */
  readonly emulationVersion: string
  /** What was given or is meant by default: values by the names of flags. */
  readonly flags: Readonly<Record<string, string>>
  /** Which of them are there. */
  readonly pages: { readonly statusz: boolean; readonly flagz: boolean }
}

const structured = ['application/json', 'application/yaml'] as const
const accepted = [...structured, 'text/plain'] as const
const versions = ['v1beta1', 'v1alpha1']

interface Form {
  readonly mediaType: (typeof accepted)[number]
  /** Of config.k8s.io; undefined for text. */
  readonly version?: string
}

/** Throws 406. Objects are for those only who name group, version and kind; text for those who name none of them. */
const negotiate = (accept: string | undefined, kind: string): Form => {
  for (const clause of parseAccept(accept)) {
    const { type, parameters } = clause
    for (const mediaType of accepted) {
      const [family] = mediaType.split('/')
      if (type !== '*/*' && type !== `${family}/*` && type !== mediaType) continue
      const version = parameters.get('v')
      if (mediaType === 'text/plain') {
        if (!asksForKind(clause)) return { mediaType }
      } else if (
        parameters.get('as') === kind &&
        parameters.get('g') === 'config.k8s.io' &&
        version !== undefined &&
        versions.includes(version)
      )
        return { mediaType, version }
    }
  }
  throw notAcceptable(accepted)
}

interface Page {
  readonly kind: 'Statusz' | 'Flagz'
  fields(now: number): JsonObject
  /** The lines below the heading. */
  text(now: number): string
}

/** Upstream draws one of four delimiters for each answer, so that nobody parses the text. This is one of them. */
const delimiter = ': '

const answer =
  (page: Page): RouteHandler =>
  (request, reply) => {
    const { mediaType, version } = negotiate(request.headers.accept, page.kind)
    const { now } = request.kube
    const name = page.kind.toLowerCase()
    if (version === undefined) {
      return reply
        .header('content-type', 'text/plain; charset=utf-8')
        .send(
          `\napiserver ${name}\nWarning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for debugging purposes only.\n${page.text(now)}`,
        )
    }
    if (version === 'v1alpha1')
      reply.header(
        'warning',
        `299 - "This version of the ${name} endpoint is deprecated. Please use a newer version."`,
      )
    reply.header('content-type', `${mediaType};g=config.k8s.io;v=${version};as=${page.kind}`)
    const object: JsonObject = {
      kind: page.kind,
      apiVersion: `config.k8s.io/${version}`,
      metadata: { name: 'apiserver' },
      ...page.fields(now),
    }
    return reply.send(
      mediaType === 'application/yaml' ? Buffer.from(formatYaml(object)) : jsonFor(request, object),
    )
  }

/** Upstream lists the first segments of all paths that are not of the API. */
const debuggingPaths = [
  '/flagz',
  '/healthz',
  '/livez',
  '/metrics',
  '/readyz',
  '/statusz',
  '/version',
]

/** Go's time.UnixDate: `Sat Nov  7 18:55:35 UTC 2026`. */
const unixDate = (milliseconds: number): string => {
  const [weekday, day, month, year, time] = new Date(milliseconds).toUTCString().split(/,? /)
  return `${weekday} ${month} ${String(Number(day)).padStart(2)} ${time} UTC ${year}`
}

const uptime = (seconds: number): string => {
  const two = (value: number) => String(Math.floor(value)).padStart(2, '0')
  return `${Math.floor(seconds / 3600)} hr ${two((seconds % 3600) / 60)} min ${two(seconds % 60)} sec`
}

const statusz = (sources: ZPageSources): Page => {
  const { startedAt, goVersion, binaryVersion, emulationVersion } = sources
  const secondsUp = (now: number): number => Math.max(0, Math.floor((now - startedAt) / 1000))
  return {
    kind: 'Statusz',
    fields: (now) => ({
      startTime: formatTime(startedAt),
      uptimeSeconds: secondsUp(now),
      goVersion,
      binaryVersion,
      emulationVersion,
      paths: debuggingPaths,
    }),
    text: (now) =>
      [
        '',
        `Started${delimiter} ${unixDate(startedAt)}`,
        `Up${delimiter} ${uptime(secondsUp(now))}`,
        `Go version${delimiter} ${goVersion}`,
        `Binary version${delimiter} ${binaryVersion}`,
        `Emulation version${delimiter} ${emulationVersion}`,
        `Paths${delimiter} ${debuggingPaths.join(' ')}`,
        '',
      ].join('\n'),
  }
}

const flagz = ({ flags }: ZPageSources): Page => ({
  kind: 'Flagz',
  fields: () => ({ flags }),
  text: () =>
    Object.keys(flags)
      .sort()
      .map((name) => `${name}${delimiter}${flags[name]}\n`)
      .join(''),
})

export const installZPages = (app: FastifyInstance, sources: ZPageSources): void => {
  const { pages } = sources
  if (pages.statusz) app.all('/statusz', answer(statusz(sources)))
  if (pages.flagz) app.all('/flagz', answer(flagz(sources)))
}
