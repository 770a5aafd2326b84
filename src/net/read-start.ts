/** The first bytes of what a peer says, as text: the rest may never end, so it is not read, and the stream is destroyed. */
export const readStart = async (
  stream: AsyncIterable<Buffer>,
  bytesMax: number,
): Promise<string> => {
  const chunks: Buffer[] = []
  let left = bytesMax
  for await (const chunk of stream) {
    chunks.push(chunk.subarray(0, left))
    left -= chunk.length
    if (left <= 0) break
  }
  return Buffer.concat(chunks).toString()
}
