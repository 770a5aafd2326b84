/** A server with a bug: a proxy in front of a right one. Every bug is one that a checker of histories must catch. */
import { once } from 'node:events'
import http from 'node:http'
import https from 'node:https'
import type { AddressInfo } from 'node:net'

/** What the proxy may do to one request. `text` is the answer of the server behind it. */
interface PlantedBug {
  /** Another path or query to ask. */
  ask?(method: string, path: string): string
  /** Answers without asking. */
  instead?(method: string, path: string, body: string): string | undefined
  /** Another answer. */
  answer?(method: string, path: string, code: number, text: string): [number, string]
  /** The lines to send for one line of a watch. */
  line?(line: string): string[]
}

/** True for every n-th call. */
const every = (n: number) => {
  let count = 0
  return () => ++count % n === 0
}

const revisionIn = (text: string): string => /"resourceVersion":"(\d+)"/.exec(text)?.[1] ?? '0'
const isEvent = (line: string): boolean => /^\{"type":"(ADDED|MODIFIED|DELETED)"/.test(line)

const unavailable = JSON.stringify({
  kind: 'Status',
  apiVersion: 'v1',
  status: 'Failure',
  message: 'planted',
  reason: 'ServiceUnavailable',
  code: 503,
})

export const plantedBugs: Readonly<Record<string, () => PlantedBug>> = {
  'a read is stale': () => {
    const old = new Map<string, [number, string]>()
    const due = every(4)
    return {
      answer: (method, path, code, text) => {
        if (method !== 'GET' || !/configmaps\/k/.test(path)) return [code, text]
        const before = old.get(path)
        if (before !== undefined && due()) return before
        old.set(path, [code, text])
        return [code, text]
      },
    }
  },
  'a list is stale': () => {
    let old: [number, string] | undefined
    const due = every(4)
    return {
      answer: (method, path, code, text) => {
        if (method !== 'GET' || !/configmaps$/.test(path)) return [code, text]
        if (old !== undefined && due()) return old
        old = [code, text]
        return old
      },
    }
  },
  'a list shows two revisions': () => {
    let old: { items: { metadata: { name: string } }[] } | undefined
    return {
      answer: (method, path, code, text) => {
        if (method !== 'GET' || !/configmaps$/.test(path) || code !== 200) return [code, text]
        const list = JSON.parse(text)
        const mixed = { ...list, items: (old ?? list).items }
        old = list
        return [code, JSON.stringify(mixed)]
      },
    }
  },
  'a write is acknowledged and lost': () => {
    const due = every(9)
    let revision = 0
    return {
      answer: (_, __, code, text) => {
        revision = Math.max(revision, Number(revisionIn(text)))
        return [code, text]
      },
      instead: (method, _, body) => {
        if (method !== 'PUT' || !due()) return undefined
        const object = JSON.parse(body)
        object.metadata.resourceVersion = String(revision + 1)
        return JSON.stringify(object)
      },
    }
  },
  'a refused write happens': () => {
    const due = every(9)
    return {
      answer: (method, _, code, text) =>
        method === 'PUT' && code === 200 && due() ? [503, unavailable] : [code, text],
    }
  },
  'two writers of one version both win': () => {
    const due = every(2)
    return {
      answer: (method, _, code, text) =>
        method === 'PUT' && code === 409 && due() ? [200, text] : [code, text],
    }
  },
  'an event is dropped': () => {
    const due = every(15)
    return { line: (line) => (isEvent(line) && due() ? [] : [line]) }
  },
  'deletes are dropped': () => {
    const due = every(3)
    return { line: (line) => (line.startsWith('{"type":"DELETED"') && due() ? [] : [line]) }
  },
  'an event is repeated': () => {
    const due = every(15)
    return { line: (line) => (isEvent(line) && due() ? [line, line] : [line]) }
  },
  'two events change places': () => {
    const due = every(20)
    let held: string | undefined
    return {
      line: (line) => {
        if (held !== undefined) {
          const pair = [line, held]
          held = undefined
          return pair
        }
        if (!isEvent(line) || !due()) return [line]
        held = line
        return []
      },
    }
  },
  'a watch skips events when it resumes': () => ({
    ask: (_, path) =>
      path.replace(/(watch=1.*resourceVersion=)(\d+)/, (_, head, n) => head + (Number(n) + 2)),
  }),
  'a watch repeats events when it resumes': () => ({
    ask: (_, path) =>
      path.replace(/(watch=1.*resourceVersion=)(\d+)/, (_, head, n) => head + (Number(n) - 2)),
  }),
  'a bookmark is ahead of its events': () => {
    const due = every(12)
    return {
      line: (line) => {
        if (!isEvent(line) || !due()) return [line]
        const resourceVersion = String(Number(revisionIn(line)) + 3)
        const object = { kind: 'ConfigMap', apiVersion: 'v1', metadata: { resourceVersion } }
        return [line, JSON.stringify({ type: 'BOOKMARK', object })]
      },
    }
  },
  'an update is told as an addition': () => {
    const due = every(10)
    return {
      line: (line) => [
        line.startsWith('{"type":"MODIFIED"') && due() ? line.replace('MODIFIED', 'ADDED') : line,
      ],
    }
  },
  'an event shows another state': () => {
    const due = every(20)
    return {
      line: (line) => [isEvent(line) && due() ? line.replace(/"value":"v-\d+/, '$&0') : line],
    }
  },
}

interface Proxy {
  readonly url: string
  close(): void
}

export const startProxy = async (target: string, bug: PlantedBug): Promise<Proxy> => {
  const agent = new https.Agent({ keepAlive: true, rejectUnauthorized: false })
  const server = http.createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    const { method = 'GET', url = '', headers } = request
    const instead = bug.instead?.(method, url, body)
    if (instead !== undefined) return void response.end(instead)
    const asked = target + (bug.ask?.(method, url) ?? url)
    const options = { method, agent, headers }
    const out = https.request(asked, options, async (answer) => {
      answer.setEncoding('utf8')
      answer.on('error', () => response.destroy())
      if (url.includes('watch=1')) return relayLines(answer, response, bug)
      let text = ''
      for await (const chunk of answer) text += chunk
      const code = answer.statusCode!
      const [shownCode, shown] = bug.answer?.(method, url, code, text) ?? [code, text]
      response.writeHead(shownCode, { 'content-type': 'application/json' }).end(shown)
    })
    out.on('error', () => response.destroy())
    response.on('close', () => out.destroy())
    out.end(body)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      server.close()
      server.closeAllConnections()
      agent.destroy()
    },
  }
}

const relayLines = (
  answer: http.IncomingMessage,
  response: http.ServerResponse,
  bug: PlantedBug,
): void => {
  let rest = ''
  response.writeHead(answer.statusCode!)
  answer.on('data', (chunk) => {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop()!
    const shown = lines.flatMap((line) => bug.line?.(line) ?? [line])
    if (shown.length > 0) response.write(`${shown.join('\n')}\n`)
  })
  answer.on('end', () => response.end())
}
