/** The body of a request as bytes, and what it says where it is YAML. */
import type { FastifyRequest } from 'fastify'
import { bareType } from '#api/accept.js'
import { requestEntityTooLarge } from '#api/errors.js'
import { JsonSyntaxError, parseWithTrace } from '#json/json.js'
import { textOf } from '#json/utf8.js'
import { limits } from '#limits'
import type { YamlReader } from '#registry/yaml/reader.js'
import { type ParsedYaml, parseYaml } from '#registry/yaml/yaml.js'
import { inputMediaType } from './answers/negotiation.js'

const noBytes = Buffer.alloc(0)

/** Stands for a body that was too large to be read. */
export const tooLarge = Symbol('too large')

/** Throws 413. */
export const bodyOf = ({ body }: FastifyRequest): Buffer => {
  if (body === tooLarge) throw requestEntityTooLarge(limits.requestBodyBytesMax)
  return Buffer.isBuffer(body) ? body : noBytes
}

export const applyType = 'application/apply-patch+yaml'

const isApply = ({ bodyType }: FastifyRequest): boolean => bareType(bodyType) === applyType

/** What JSON may hold and YAML not; bytes that are not UTF-8; escapes that YAML does not have. */
const leftToYaml = /[\x7f-\x84\x86-\x9f\ufffd-\uffff]|\\[u/]/

/** An apply in plain JSON, which is what most clients send: the YAML parser is many times slower. */
const plainJsonOf = (request: FastifyRequest): ParsedYaml | undefined => {
  const body = bodyOf(request)
  if (body[0] !== 0x7b || !isApply(request)) return undefined
  const text = textOf(body)
  if (leftToYaml.test(text)) return undefined
  try {
    const { value, trace } = parseWithTrace(text)
    return trace === undefined ? { value, duplicates: [] } : undefined
  } catch (error) {
    if (error instanceof JsonSyntaxError) return undefined
    throw error
  }
}

/** Parses a large YAML body in a thread, so that `yamlOf` has the result. */
export const readLargeYaml = (
  request: FastifyRequest,
  reader: YamlReader,
): Promise<void> | undefined => {
  const { body } = request
  if (!Buffer.isBuffer(body) || body.length <= limits.yamlAtOnceBytesMax) return undefined
  if (!isApply(request) && inputMediaType(request.bodyType) !== 'yaml') return undefined
  request.yaml = plainJsonOf(request)
  if (request.yaml !== undefined) return undefined
  return reader.read(body, request.kube.signal).then((answer) => {
    request.yaml = answer
  })
}

/** Throws YamlSyntaxError. */
export const yamlOf = (request: FastifyRequest): ParsedYaml => {
  const { yaml } = request
  if (yaml instanceof Error) throw yaml
  return yaml ?? plainJsonOf(request) ?? parseYaml(bodyOf(request))
}
