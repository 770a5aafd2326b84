import { type CelValue, typeNameOf } from './values.js'

const names: Readonly<Record<string, string>> = {
  bool: 'types.Bool',
  bytes: 'types.Bytes',
  double: 'types.Double',
  'google.protobuf.Duration': 'types.Duration',
  'google.protobuf.Timestamp': 'types.Timestamp',
  int: 'types.Int',
  'kubernetes.NamedFormat': '*cel.Format',
  'kubernetes.Quantity': 'cel.Quantity',
  'kubernetes.Semver': 'cel.Semver',
  'kubernetes.URL': 'cel.URL',
  list: '*types.baseList',
  map: '*types.baseMap',
  'net.CIDR': 'cel.CIDR',
  'net.IP': 'cel.IP',
  null_type: 'types.Null',
  optional_type: '*types.Optional',
  string: 'types.String',
  type: '*types.Type',
  uint: 'types.Uint',
}

/** How Go names the type of a value that cannot stand where it does. */
export const goTypeNameOf = (value: CelValue): string => {
  const name = typeNameOf(value)
  return names[name] ?? name
}
