/** The thread that large YAML is read in (reader.ts): a text comes, what it says goes back, or what is wrong with it. */
import { parentPort } from 'node:worker_threads'
import { YamlSyntaxError } from './messages.js'
import { type ParsedYaml, parseYaml } from './yaml.js'

// The library makes an error of each fault, of which a text may have a million; what they keep of the stack would take most
// of the time and of the memory.
Error.stackTraceLimit = 0

const answerTo = (text: Buffer): ParsedYaml | string => {
  try {
    return parseYaml(text)
  } catch (error) {
    if (error instanceof YamlSyntaxError) return error.message
    throw error
  }
}

parentPort!.on('message', ({ buffer, byteOffset, length }: Uint8Array) =>
  parentPort!.postMessage(answerTo(Buffer.from(buffer, byteOffset, length))),
)
