/** Volumes made of files that the API holds (kubernetes, core/validation). */

import { each } from '#api/each.js'
import { child, type FieldError, forbidden, index, invalid, required } from '#api/field-error.js'
import type { Fields } from '#api/object.js'
import { pushAll } from '#collections/push-all.js'
import { validLocalPath } from '../formats.js'
import { validLabelSelector } from '../label-selector.js'
import { validTokenSeconds } from '../number.js'
import { validFieldRef, validResourceFieldRef, volumeFields } from './field-references.js'

const modeMessage = 'must be a number between 0 and 0777 (octal), both inclusive'

const validMode = (path: string, mode: number | undefined): FieldError[] =>
  mode === undefined || (mode >= 0 && mode <= 0o777) ? [] : [invalid(path, mode, modeMessage)]

const keyToPath = ({ key = '', path: file = '', mode }: Fields, path: string): FieldError[] => [
  ...(key === '' ? [required(child(path, 'key'))] : []),
  ...(file === '' ? [required(child(path, 'path'))] : []),
  ...validLocalPath(child(path, 'path'), file),
  ...validMode(child(path, 'mode'), mode),
]

const keyedFiles =
  (nameField: string) =>
  (path: string, source: Fields): FieldError[] => [
    ...(source[nameField] ? [] : [required(child(path, nameField))]),
    ...validMode(child(path, 'defaultMode'), source.defaultMode),
    ...each(child(path, 'items'), source.items as Fields[] | undefined, keyToPath),
  ]

export const validSecretVolume = keyedFiles('secretName')
export const validConfigMapVolume = keyedFiles('name')

const downwardFile = (path: string, file: Fields): FieldError[] => {
  const errors = file.path ? [] : [required(child(path, 'path'))]
  errors.push(...validLocalPath(child(path, 'path'), file.path ?? ''))
  if (file.fieldRef) {
    errors.push(...validFieldRef(child(path, 'fieldRef'), file.fieldRef, volumeFields))
    if (file.resourceFieldRef)
      errors.push(
        invalid(
          path,
          'resource',
          'fieldRef and resourceFieldRef can not be specified simultaneously',
        ),
      )
  } else if (file.resourceFieldRef)
    errors.push(
      ...validResourceFieldRef(child(path, 'resourceFieldRef'), file.resourceFieldRef, true),
    )
  else errors.push(required(path, 'one of fieldRef and resourceFieldRef is required'))
  return [...errors, ...validMode(child(path, 'mode'), file.mode)]
}

export const validDownwardVolume = (path: string, source: Fields): FieldError[] => [
  ...validMode(child(path, 'defaultMode'), source.defaultMode),
  // Upstream leaves the number of the item out of the path.
  ...((source.items ?? []) as Fields[]).flatMap((file) => downwardFile(path, file)),
]

class Projection {
  readonly #paths = new Set<string>()
  readonly #path: string

  constructor(path: string) {
    this.#path = path
  }

  #claim(file: string, culprit: string): FieldError[] {
    if (this.#paths.has(file)) return [invalid(this.#path, culprit, 'conflicting duplicate paths')]
    this.#paths.add(file)
    return []
  }

  keyed(path: string, { name = '', items }: Fields): FieldError[] {
    return [
      ...(name === '' ? [required(child(path, 'name'))] : []),
      ...each(child(path, 'items'), items as Fields[] | undefined, (item, at) => [
        ...keyToPath(item, at),
        ...(item.path ? this.#claim(item.path, name) : []),
      ]),
    ]
  }

  downward(path: string, { items }: Fields): FieldError[] {
    return ((items ?? []) as Fields[]).flatMap((file) => [
      ...downwardFile(path, file),
      ...(file.path ? this.#claim(file.path, file.path) : []),
    ])
  }

  token(path: string, { expirationSeconds, path: file = '' }: Fields): FieldError[] {
    const errors = validTokenSeconds(child(path, 'expirationSeconds'), expirationSeconds)
    const filePath = child(this.#path, 'path')
    return [...errors, ...(file === '' ? [required(filePath)] : validLocalPath(filePath, file))]
  }

  trustBundle(path: string, source: Fields): FieldError[] {
    const errors: FieldError[] = []
    const { name, signerName, labelSelector, path: file = '' } = source
    if (name !== undefined && signerName !== undefined)
      errors.push(invalid(path, source, 'only one of name and signerName may be used'))
    else if (name !== undefined) {
      if (name === '') errors.push(required(child(path, 'name'), 'must be a valid object name'))
      if (labelSelector !== undefined)
        errors.push(
          invalid(
            child(path, 'labelSelector'),
            labelSelector,
            'labelSelector must be unset if name is specified',
          ),
        )
    } else if (signerName === undefined)
      errors.push(required(path, 'either name or signerName must be specified'))
    else if (signerName === '')
      errors.push(required(child(path, 'signerName'), 'must be a valid signer name'))
    else pushAll(errors, validLabelSelector(child(path, 'labelSelector'), labelSelector))
    if (file === '') errors.push(required(child(path, 'path')))
    return [...errors, ...validLocalPath(child(path, 'path'), file), ...this.#claim(file, file)]
  }
}

const projectionSources = [
  'secret',
  'configMap',
  'downwardAPI',
  'serviceAccountToken',
  'clusterTrustBundle',
] as const

export const validProjectedVolume = (path: string, source: Fields): FieldError[] => {
  const projection = new Projection(path)
  const checks = {
    secret: (at: string, s: Fields) => projection.keyed(at, s),
    configMap: (at: string, s: Fields) => projection.keyed(at, s),
    downwardAPI: (at: string, s: Fields) => projection.downward(at, s),
    serviceAccountToken: (at: string, s: Fields) => projection.token(at, s),
    clusterTrustBundle: (at: string, s: Fields) => projection.trustBundle(at, s),
  }
  const sources = ((source.sources ?? []) as Fields[]).flatMap((given, i) => {
    const at = index(child(path, 'sources'), i)
    const found = projectionSources.filter((name) => given[name] !== undefined)
    return [
      ...found.flatMap((name) => checks[name](child(at, name), given[name])),
      ...(found.length > 1
        ? [forbidden(at, 'may not specify more than 1 volume type per source')]
        : []),
    ]
  })
  return [...validMode(child(path, 'defaultMode'), source.defaultMode), ...sources]
}
