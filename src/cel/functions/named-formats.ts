/** Formats of strings by name (apiserver, pkg/cel/library/format.go). */
import {
  dns1035LabelName,
  dnsLabelName,
  dnsSubdomainName,
  isLabelValue,
  isQualifiedName,
} from '#api/names.js'
import type { Implementations } from '../evaluation.js'
import { parseDate, parseTimestamp } from '../times.js'
import { type CelValue, KubernetesValue, Optional } from '../values.js'
import { uriProblem } from './urls.js'

export class NamedFormat extends KubernetesValue {
  readonly typeName = 'kubernetes.NamedFormat'
  readonly name: string
  readonly check: (text: string) => string[]
  /** Of the pattern that stands for it in costs. */
  readonly patternSize: number
  constructor(name: string, patternSize: number, check: (text: string) => string[]) {
    super()
    this.name = name
    this.patternSize = patternSize
    this.check = check
  }
  equals(other: this): boolean {
    return this.name === other.name
  }
}

const unless = (isRight: (text: string) => boolean, complaint: string) => (text: string) =>
  isRight(text) ? [] : [complaint]

const uuid = /^[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{12}$/
const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$/

const formats: Readonly<Record<string, NamedFormat>> = {
  dns1123Label: new NamedFormat('DNS1123Label', 30, (text) => dnsLabelName(text, false)),
  dns1123Subdomain: new NamedFormat('DNS1123Subdomain', 60, (text) =>
    dnsSubdomainName(text, false),
  ),
  dns1035Label: new NamedFormat('DNS1035Label', 30, (text) => dns1035LabelName(text, false)),
  qualifiedName: new NamedFormat('QualifiedName', 60, isQualifiedName),
  dns1123LabelPrefix: new NamedFormat('DNS1123LabelPrefix', 30, (text) => dnsLabelName(text, true)),
  dns1123SubdomainPrefix: new NamedFormat('DNS1123SubdomainPrefix', 60, (text) =>
    dnsSubdomainName(text, true),
  ),
  dns1035LabelPrefix: new NamedFormat('DNS1035LabelPrefix', 30, (text) =>
    dns1035LabelName(text, true),
  ),
  labelValue: new NamedFormat('LabelValue', 40, isLabelValue),
  uri: new NamedFormat('URI', 1_103, (text) => {
    const problem = uriProblem(text)
    return problem === undefined ? [] : [problem]
  }),
  uuid: new NamedFormat(
    'uuid',
    70,
    unless((text) => uuid.test(text), 'does not match the UUID format'),
  ),
  byte: new NamedFormat(
    'byte',
    84,
    unless((text) => base64.test(text), 'invalid base64'),
  ),
  date: new NamedFormat(
    'date',
    71,
    unless((text) => parseDate(text) !== undefined, 'invalid date'),
  ),
  datetime: new NamedFormat(
    'datetime',
    71,
    unless((text) => parseTimestamp(text) !== undefined, 'invalid datetime'),
  ),
}

const named = (name: string): CelValue =>
  Object.hasOwn(formats, name) ? Optional.of(formats[name]!) : Optional.none

const validate = (format: NamedFormat, text: string): CelValue => {
  const messages = format.check(text)
  return messages.length === 0 ? Optional.none : Optional.of(messages)
}

export const formatFunctions: Implementations = {
  ...Object.fromEntries(
    Object.entries(formats).map(([name, format]) => [`format.${name}`, () => format]),
  ),
  'format-named': named,
  'format-validate': validate,
}
