/**
 * Clients of one process that act as ServiceAccounts of kube-system, over connections that show nobody. Upstream:
 * controller-manager/pkg/clientbuilder.
 */
import type { Clock } from '#api/clock.js'
import { serviceAccountUsername } from '#api/user-info.js'
import { oncePer } from '#async/once.js'
import { AccountToken } from './account-token.js'
import type { Client } from './client.js'
import type { ClientConfig } from './kubeconfig.js'
import { createTransport, type Transport } from './transport.js'

const namespace = 'kube-system'

interface Options {
  /** Of the process itself. */
  readonly client: Client
  readonly clock: Clock
  readonly signal: AbortSignal
}

/** A certificate of the connection would count before a token. */
const anonymous = ({ server, ca, serverName, insecureSkipTlsVerify, ...rest }: ClientConfig) => ({
  server,
  namespace: rest.namespace,
  ...(ca === undefined ? {} : { ca }),
  ...(serverName === undefined ? {} : { serverName }),
  ...(insecureSkipTlsVerify === undefined ? {} : { insecureSkipTlsVerify }),
  ...(rest.proxyUrl === undefined ? {} : { proxyUrl: rest.proxyUrl }),
  ...(rest.files?.ca === undefined ? {} : { files: { ca: rest.files.ca } }),
})

const withToken = (transport: Transport, token: AccountToken): Transport => ({
  async send(request) {
    const shown = await token.current()
    const authorization = `Bearer ${shown}`
    const answer = await transport.send({
      ...request,
      headers: { ...request.headers, authorization },
    })
    if (answer.statusCode === 401) token.refused(shown)
    return answer
  },
  close() {},
})

export class ServiceAccountClients {
  readonly #options: Options
  readonly #transport: Transport

  constructor(options: Options) {
    this.#options = options
    this.#transport = createTransport(anonymous(options.client.config))
  }

  readonly of = oncePer((name): Client => {
    const transport = withToken(
      this.#transport,
      new AccountToken(this.#options, { namespace, name }),
    )
    return this.#options.client.as(serviceAccountUsername(namespace, name), transport)
  })

  close(): void {
    this.#transport.close()
  }
}
