/** Connections through a proxy that speaks SOCKS 5 (RFC 1928 and 1929), such as `ssh -D`. */
import { connect, type Socket } from 'node:net'
import { limits } from '#limits'
import { urlHost } from '#net/url-host.js'

export interface Target {
  readonly host: string
  readonly port: number
  readonly signal: AbortSignal
}

export const proxyUser = ({ username, password }: URL): { user: string; password: string } => ({
  user: decodeURIComponent(username),
  password: decodeURIComponent(password),
})

/** The next `length` bytes of an answer. What comes behind them stays in the socket. */
const take = (socket: Socket, length: number): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    let taken = Buffer.alloc(0)
    const settle = (): void => {
      socket.off('data', onData).off('close', onClose).off('error', onError).pause()
    }
    const onData = (chunk: Buffer): void => {
      taken = Buffer.concat([taken, chunk])
      if (taken.length < length) return
      settle()
      if (taken.length > length) socket.unshift(taken.subarray(length))
      resolve(taken.subarray(0, length))
    }
    const onError = (error: Error): void => {
      settle()
      reject(error)
    }
    const onClose = (): void => onError(new Error('the proxy has ended the connection'))
    socket.on('data', onData).on('close', onClose).on('error', onError).resume()
  })

const socksReplies = [
  '',
  'general SOCKS server failure',
  'connection not allowed by ruleset',
  'network unreachable',
  'host unreachable',
  'connection refused',
  'TTL expired',
  'command not supported',
  'address type not supported',
]

/** A text with its length before it. */
const counted = (text: string): Buffer => {
  const bytes = Buffer.from(text)
  return Buffer.concat([Buffer.from([bytes.length]), bytes])
}

const greet = async (socket: Socket, proxy: URL): Promise<void> => {
  const { user, password } = proxyUser(proxy)
  socket.write(Buffer.from(user === '' ? [5, 1, 0] : [5, 2, 0, 2]))
  const [version, method] = await take(socket, 2)
  if (version !== 5) throw new Error('the proxy does not speak SOCKS 5')
  if (method === 0) return
  if (method !== 2 || user === '') throw new Error('the proxy wants another authentication')
  socket.write(Buffer.concat([Buffer.from([1]), counted(user), counted(password)]))
  const [, status] = await take(socket, 2)
  if (status !== 0) throw new Error('the proxy refuses the user and password')
}

/** The proxy looks up the host, also where that is an address. */
export const throughSocks = async (proxy: URL, { host, port, signal }: Target): Promise<Socket> => {
  const socket = connect({ host: urlHost(proxy), port: Number(proxy.port || 1080), signal })
  try {
    socket.setTimeout(limits.proxyAnswerMs, () =>
      socket.destroy(new Error('the proxy does not answer')),
    )
    await greet(socket, proxy)
    const to = Buffer.from([port >> 8, port & 255])
    socket.write(Buffer.concat([Buffer.from([5, 1, 0, 3]), counted(host), to]))
    const [, reply = 1, , type] = await take(socket, 4)
    if (reply !== 0)
      throw new Error(`the proxy answers: ${socksReplies[reply] ?? `unknown code ${reply}`}`)
    const addressLength = type === 3 ? (await take(socket, 1))[0]! : type === 4 ? 16 : 4
    await take(socket, addressLength + 2)
    // The server says nothing before it is asked.
    return socket.setTimeout(0).resume()
  } catch (error) {
    socket.destroy()
    throw error
  }
}
