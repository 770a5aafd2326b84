/** What Go prints of an error of gRPC. */
import { type ServiceError, status } from '@grpc/grpc-js'

/** `DEADLINE_EXCEEDED` is `DeadlineExceeded` in Go. */
export const goCode = (code: status): string => {
  const name = code === status.CANCELLED ? 'CANCELED' : (status[code] ?? 'UNKNOWN')
  return name === 'OK'
    ? name
    : name
        .split('_')
        .map((word) => word[0] + word.slice(1).toLowerCase())
        .join('')
}

export const grpcText = ({ code, details = '' }: Pick<ServiceError, 'code' | 'details'>): string =>
  `rpc error: code = ${goCode(code)} desc = ${details}`
