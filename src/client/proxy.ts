/** Connections through the proxy that a kubeconfig names: its proxy-url (net/http, Transport.dialConn). */
import http from 'node:http'
import https from 'node:https'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { limits } from '#limits'
import { authorizationOf } from '#net/client-credentials.js'
import { hostInUrl } from '#net/host-in-url.js'
import { serverNamed } from '#net/server-name.js'
import { trusted } from '#net/trusted.js'
import { urlHost } from '#net/url-host.js'
import { proxyUser, type Target, throughSocks } from './socks.js'

/** How the proxy itself is trusted: as the server. */
interface ProxyTrust {
  readonly ca?: string
  readonly insecureSkipTlsVerify?: boolean
}

/** By CONNECT: also for a server of plain HTTP, so that there is one way. */
const throughHttp = (
  proxy: URL,
  { host, port, signal }: Target,
  { ca, insecureSkipTlsVerify }: ProxyTrust,
): Promise<Duplex> =>
  new Promise((resolve, reject) => {
    const { user: username, password } = proxyUser(proxy)
    const { authorization } = authorizationOf({ username, password })
    const authority = `${hostInUrl(host)}:${port}`
    const isSecure = proxy.protocol === 'https:'
    const request = (isSecure ? https : http).request({
      ...trusted(ca),
      ...serverNamed(urlHost(proxy)),
      rejectUnauthorized: !insecureSkipTlsVerify,
      host: urlHost(proxy),
      port: proxy.port || (isSecure ? 443 : 80),
      method: 'CONNECT',
      path: authority,
      headers: {
        host: authority,
        ...(authorization === undefined ? {} : { 'proxy-authorization': authorization }),
      },
      agent: false,
      timeout: limits.proxyAnswerMs,
      signal,
    })
    request.on('timeout', () => request.destroy(new Error('the proxy does not answer')))
    request.on('error', reject)
    const refuse = ({ statusCode, statusMessage }: http.IncomingMessage, socket?: Duplex): void => {
      reject(new Error(`the proxy answers ${statusCode} ${statusMessage ?? ''}`.trim()))
      socket?.destroy()
      request.destroy()
    }
    request.on('response', (message) => refuse(message))
    request.on('connect', (message, socket, head) => {
      if (message.statusCode !== 200) return refuse(message, socket)
      // A server that speaks first.
      if (head.length > 0) socket.unshift(head)
      resolve((socket as Socket).setTimeout(0))
    })
    request.end()
  })

const tunnel = (proxy: URL, target: Target, trust: ProxyTrust): Promise<Duplex> =>
  proxy.protocol === 'socks5:' ? throughSocks(proxy, target) : throughHttp(proxy, target, trust)

/** The agent, which connects through the proxy from now on. What is being connected ends with it. */
export const throughProxy = <A extends http.Agent>(agent: A, proxy: URL, trust: ProxyTrust): A => {
  const secured = agent instanceof https.Agent && agent.createConnection.bind(agent)
  const destroy = agent.destroy.bind(agent)
  const ended = new AbortController()
  return Object.assign(agent, {
    createConnection(
      options: http.ClientRequestArgs,
      callback: (error: Error | null, stream?: Duplex | null) => void,
    ): void {
      const target = { host: options.host ?? '', port: Number(options.port), signal: ended.signal }
      tunnel(proxy, target, trust).then(
        (socket) => callback(null, secured ? secured({ ...options, ...{ socket } }) : socket),
        (error: Error) => callback(error),
      )
    },
    destroy(): void {
      ended.abort()
      destroy()
    },
  })
}
