/** Probes and lifecycle handlers (kubernetes, core/validation: validateHandler, validateProbe). */
import {
  child,
  type FieldError,
  forbidden,
  invalid,
  notSupported,
  required,
} from '#api/field-error.js'
import type { Fields } from '#api/object.js'
import { validHeaderName } from '../formats.js'
import { validPort, validPortOrName } from '../network.js'
import { nonNegative } from '../number.js'

const httpGet = (path: string, action: Fields): FieldError[] => [
  ...(action.path ? [] : [required(child(path, 'path'))]),
  ...validPortOrName(child(path, 'port'), action.port),
  ...(['HTTP', 'HTTPS'].includes(action.scheme)
    ? []
    : [notSupported(child(path, 'scheme'), action.scheme, ['HTTP', 'HTTPS'])]),
  ...((action.httpHeaders ?? []) as Fields[]).flatMap(({ name = '' }) =>
    validHeaderName(child(path, 'httpHeaders'), name),
  ),
]

type Check = (path: string, action: Fields, graceSeconds: number) => FieldError[]

const handlers: Readonly<Record<string, Check>> = {
  exec: (path, { command }) => (command?.length > 0 ? [] : [required(child(path, 'command'))]),
  httpGet,
  tcpSocket: (path, { port }) => validPortOrName(child(path, 'port'), port),
  grpc: (path, { port }) => validPort(child(path, 'port'), port),
  sleep: (path, { seconds }, grace) =>
    seconds < 0 || seconds > grace
      ? [
          invalid(
            path,
            seconds,
            `must be non-negative and less than terminationGracePeriodSeconds (${grace})`,
          ),
        ]
      : [],
}

const handlerErrors = (path: string, handler: Fields, grace: number): FieldError[] => {
  const [first, ...more] = Object.keys(handlers).filter((name) => handler[name] !== undefined)
  if (first === undefined) return [required(path, 'must specify a handler type')]
  return [
    ...handlers[first]!(child(path, first), handler[first], grace),
    ...more.map((name) => forbidden(child(path, name), 'may not specify more than 1 handler type')),
  ]
}

const counts = [
  'initialDelaySeconds',
  'timeoutSeconds',
  'periodSeconds',
  'successThreshold',
  'failureThreshold',
]

const probeErrors = (path: string, probe: Fields, grace: number): FieldError[] => {
  const { terminationGracePeriodSeconds } = probe
  return [
    ...handlerErrors(path, probe, grace),
    ...counts.flatMap((field) => nonNegative(child(path, field), probe[field])),
    ...(terminationGracePeriodSeconds !== undefined && terminationGracePeriodSeconds <= 0
      ? [
          invalid(
            child(path, 'terminationGracePeriodSeconds'),
            terminationGracePeriodSeconds,
            'must be greater than 0',
          ),
        ]
      : []),
  ]
}

const mustSucceedOnce = (path: string, { successThreshold }: Fields): FieldError[] =>
  successThreshold === 1
    ? []
    : [invalid(child(path, 'successThreshold'), successThreshold ?? 0, 'must be 1')]

const readinessOnly = (path: string, { terminationGracePeriodSeconds }: Fields): FieldError[] =>
  terminationGracePeriodSeconds === undefined
    ? []
    : [
        invalid(
          child(path, 'terminationGracePeriodSeconds'),
          terminationGracePeriodSeconds,
          'must not be set for readinessProbes',
        ),
      ]

const probes = [
  ['livenessProbe', mustSucceedOnce],
  ['readinessProbe', readinessOnly],
  ['startupProbe', mustSucceedOnce],
] as const

/** What a container that keeps running may have: handlers of its life and probes. */
export const validLifecycleAndProbes = (
  path: string,
  container: Fields,
  grace: number,
): FieldError[] => {
  const { lifecycle } = container
  const errors: FieldError[] = []
  for (const moment of ['postStart', 'preStop'])
    if (lifecycle?.[moment])
      errors.push(...handlerErrors(child(path, 'lifecycle', moment), lifecycle[moment], grace))
  for (const [name, more] of probes) {
    const at = child(path, name)
    if (container[name])
      errors.push(...probeErrors(at, container[name], grace), ...more(at, container[name]))
  }
  return errors
}

/** What an init container that ends may not have. */
export const withoutLifecycleAndProbes = (path: string, container: Fields): FieldError[] =>
  ['lifecycle', 'livenessProbe', 'readinessProbe', 'startupProbe']
    .filter((field) => container[field] !== undefined)
    .map((field) =>
      forbidden(
        child(path, field),
        'may not be set for init containers without restartPolicy=Always',
      ),
    )
