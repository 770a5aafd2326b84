/** Requests of tests: plain HTTP, JSON in and out, and watches that are read event by event. */
import http from 'node:http'

export interface Answer {
  code: number
  headers: http.IncomingHttpHeaders
  // biome-ignore lint/suspicious/noExplicitAny: tests look at answers of every kind
  body: any
  text: string
}

interface RequestOptions {
  body?: unknown
  /** The body as it is, in place of `body`. */
  raw?: Buffer | string
  type?: string
  headers?: Record<string, string>
}

export interface WatchEvent {
  type: string
  // biome-ignore lint/suspicious/noExplicitAny: tests look at objects of every kind
  object: any
}

interface Watch {
  /** The next `count` events; fails the test when they do not come. */
  take(count: number): Promise<WatchEvent[]>
  /** Everything until the server ends the stream. */
  rest(): Promise<WatchEvent[]>
  readonly code: number
  readonly response: http.IncomingMessage
  close(): void
}

const patienceMs = 120_000

export class ApiClient {
  readonly #url: URL
  readonly #agent = new http.Agent({ keepAlive: true })

  constructor(url: string) {
    this.#url = new URL(url)
  }

  #open(method: string, path: string, options: RequestOptions = {}): Promise<http.IncomingMessage> {
    const { raw, body, type = 'application/json', headers = {} } = options
    const payload = raw ?? (body === undefined ? undefined : JSON.stringify(body))
    return new Promise((resolve, reject) => {
      const request = http.request(
        {
          host: this.#url.hostname,
          port: this.#url.port,
          method,
          path,
          agent: this.#agent,
          headers: {
            'user-agent': 'test/1',
            ...(payload === undefined
              ? {}
              : { 'content-type': type, 'content-length': Buffer.byteLength(payload) }),
            ...headers,
          },
        },
        resolve,
      )
      request.on('error', reject)
      request.end(payload)
    })
  }

  async send(method: string, path: string, options: RequestOptions = {}): Promise<Answer> {
    const response = await this.#open(method, path, options)
    const chunks: Buffer[] = []
    for await (const chunk of response) chunks.push(chunk as Buffer)
    const text = Buffer.concat(chunks).toString()
    const isJson = response.headers['content-type'] === 'application/json' && text !== ''
    return {
      code: response.statusCode ?? 0,
      headers: response.headers,
      body: isJson ? JSON.parse(text) : undefined,
      text,
    }
  }

  get(path: string, options?: RequestOptions) {
    return this.send('GET', path, options)
  }
  post(path: string, body: unknown) {
    return this.send('POST', path, { body })
  }
  put(path: string, body: unknown) {
    return this.send('PUT', path, { body })
  }
  merge(path: string, body: unknown) {
    return this.send('PATCH', path, { body, type: 'application/merge-patch+json' })
  }
  delete(path: string, body?: unknown) {
    return this.send('DELETE', path, body === undefined ? {} : { body })
  }

  async watch(path: string, options?: RequestOptions): Promise<Watch> {
    const response = await this.#open('GET', path, options)
    const lines = linesOf(response)
    const read = async (): Promise<WatchEvent | undefined> => {
      const { value, done } = await lines.next()
      return done ? undefined : (JSON.parse(value) as WatchEvent)
    }
    return {
      response,
      code: response.statusCode ?? 0,
      take: async (count) => {
        const events: WatchEvent[] = []
        while (events.length < count) {
          const event = await inTime(read(), `event ${events.length + 1} of ${count}`)
          if (event === undefined)
            throw new Error(`ended after ${events.length} of ${count} events`)
          events.push(event)
        }
        return events
      },
      rest: async () => {
        const events: WatchEvent[] = []
        for (;;) {
          const event = await inTime(read(), 'the end of the stream')
          if (event === undefined) return events
          events.push(event)
        }
      },
      close: () => response.destroy(),
    }
  }

  close(): void {
    this.#agent.destroy()
  }
}

async function* linesOf(response: http.IncomingMessage): AsyncGenerator<string> {
  let pending = ''
  for await (const chunk of response) {
    const lines = (pending + String(chunk)).split('\n')
    pending = lines.pop() ?? ''
    for (const line of lines) yield line
  }
}

const inTime = async <T>(promise: Promise<T>, what: string): Promise<T> => {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`waited too long for ${what}`)), patienceMs)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}
