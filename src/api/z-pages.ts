/**
 * /statusz and /flagz: which program this is and how it was started, as text for people or, for clients that ask for
 * `as=Statusz` or `as=Flagz` of config.k8s.io, as an object. Upstream: apiserver/pkg/server/statusz and flagz.
 */
import type { JsonObject } from '#json/value.js'
import { formatYaml } from '#json/yaml.js'
import { asksForKind, namesType, noneAccepted, parseAccept } from './accept.js'
import { type BuildInfo, versionDocument } from './build-info.js'
import { formatTime } from './clock.js'
import { isPretty } from './pretty.js'

export interface ZPageSources {
  /** As the pages name it: `apiserver`, `kube-scheduler`. */
  readonly component: string
  /** Milliseconds since the epoch. */
  readonly startedAt: number
  readonly build: BuildInfo
  /** First segments of the paths that are not of the API. */
  readonly paths: readonly string[]
  /** What was given or is meant by default: values by the names of flags. */
  readonly flags: Readonly<Record<string, string>>
}

interface Asking {
  readonly url?: string | undefined
  readonly headers: {
    readonly accept?: string | undefined
    readonly 'user-agent'?: string | undefined
  }
}

interface ZPageAnswer {
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
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
    const { parameters } = clause
    for (const mediaType of accepted) {
      if (!namesType(clause, mediaType)) continue
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
  throw noneAccepted(accepted)
}

interface Page {
  readonly kind: 'Statusz' | 'Flagz'
  readonly fields: JsonObject
  /** The lines below the heading. */
  readonly text: string
}

/** Upstream draws one of four delimiters for each answer, so that nobody parses the text. This is one of them. */
const delimiter = ': '

const answerWith = (
  { kind, fields, text }: Page,
  component: string,
  request: Asking,
): ZPageAnswer => {
  const { mediaType, version } = negotiate(request.headers.accept, kind)
  const name = kind.toLowerCase()
  if (version === undefined)
    return {
      headers: { 'content-type': 'text/plain; charset=utf-8' },
      text: `\n${component} ${name}\nWarning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for debugging purposes only.\n${text}`,
    }
  const object: JsonObject = {
    kind,
    apiVersion: `config.k8s.io/${version}`,
    metadata: { name: component },
    ...fields,
  }
  const json = () =>
    isPretty(false, request) ? JSON.stringify(object, null, 2) : `${JSON.stringify(object)}\n`
  const warning = `299 - "This version of the ${name} endpoint is deprecated. Please use a newer version."`
  return {
    headers: {
      'content-type': `${mediaType};g=config.k8s.io;v=${version};as=${kind}`,
      ...(version === 'v1alpha1' ? { warning } : {}),
    },
    text: mediaType === 'application/yaml' ? formatYaml(object) : json(),
  }
}

/** Go's time.UnixDate: `Sat Nov  7 18:55:35 UTC 2026`. */
const unixDate = (milliseconds: number): string => {
  const [weekday, day, month, year, time] = new Date(milliseconds).toUTCString().split(/,? /)
  return `${weekday} ${month} ${String(Number(day)).padStart(2)} ${time} UTC ${year}`
}

const uptime = (seconds: number): string => {
  const two = (value: number) => String(Math.floor(value)).padStart(2, '0')
  return `${Math.floor(seconds / 3600)} hr ${two((seconds % 3600) / 60)} min ${two(seconds % 60)} sec`
}

const statusz = ({ startedAt, build, paths }: ZPageSources, now: number): Page => {
  const { major, minor, gitVersion, goVersion } = versionDocument(build)
  const binaryVersion = gitVersion.replace(/^v|[-+].*$/g, '')
  const emulationVersion = `${major}.${minor}`
  const uptimeSeconds = Math.max(0, Math.floor((now - startedAt) / 1000))
  return {
    kind: 'Statusz',
    fields: {
      startTime: formatTime(startedAt),
      uptimeSeconds,
      goVersion,
      binaryVersion,
      emulationVersion,
      paths: [...paths],
    },
    text: [
      '',
      `Started${delimiter} ${unixDate(startedAt)}`,
      `Up${delimiter} ${uptime(uptimeSeconds)}`,
      `Go version${delimiter} ${goVersion}`,
      `Binary version${delimiter} ${binaryVersion}`,
      `Emulation version${delimiter} ${emulationVersion}`,
      `Paths${delimiter} ${paths.join(' ')}`,
      '',
    ].join('\n'),
  }
}

const flagz = ({ flags }: ZPageSources): Page => ({
  kind: 'Flagz',
  fields: { flags: { ...flags } },
  text: Object.keys(flags)
    .sort()
    .map((name) => `${name}${delimiter}${flags[name]}\n`)
    .join(''),
})

const pages = { '/statusz': statusz, '/flagz': flagz }

export type ZPagePath = keyof typeof pages

export const isZPage = (path: string): path is ZPagePath => Object.hasOwn(pages, path)

/** Throws 406. */
export const zPage = (
  path: ZPagePath,
  sources: ZPageSources,
  request: Asking,
  now: number,
): ZPageAnswer => answerWith(pages[path](sources, now), sources.component, request)
