/** What a person is told whose command could not ask a server. */
import { messageOf } from './errors.js'

type ConnectError = Error & {
  readonly code?: string
  readonly address?: string
  readonly port?: number
}

export const whyNoAnswer = (error: unknown): string => {
  const { code, address, port } = error as ConnectError
  return code === 'ECONNREFUSED' && address !== undefined
    ? `no server answers at ${address}:${port}: is it running?`
    : messageOf(error)
}
