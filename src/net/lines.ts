/**
 * The lines of a stream that have an end: a line feed, and nothing else. Node's readline also ends them at U+2028 since
 * Node 24, which names of objects may have in them.
 */
export async function* linesOf(stream: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let pending: Buffer[] = []
  for await (const chunk of stream) {
    let from = 0
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, from)) {
      yield Buffer.concat([...pending, chunk.subarray(from, at)]).toString('utf8')
      pending = []
      from = at + 1
    }
    if (from < chunk.length) pending.push(chunk.subarray(from))
  }
}
