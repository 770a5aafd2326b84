/** A registry of one image, for those who know its password. */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import http from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Test } from 'tap'
import { listen } from '../listen.js'
import { busybox } from './containerd.js'

const makeLayer = (): Buffer => {
  const folder = mkdtempSync(path.join(tmpdir(), 'kl-registry-'))
  mkdirSync(path.join(folder, 'root/bin'), { recursive: true })
  copyFileSync(busybox!, path.join(folder, 'root/bin/busybox'))
  execFileSync('tar', ['-C', path.join(folder, 'root'), '-cf', path.join(folder, 'layer'), '.'])
  const layer = readFileSync(path.join(folder, 'layer'))
  rmSync(folder, { recursive: true })
  return layer
}

const digestOf = (bytes: Buffer): string =>
  `sha256:${createHash('sha256').update(bytes).digest('hex')}`

/** Its image sleeps. Yields the image's name. */
export const startPrivateRegistry = async (
  t: Test,
  { username, password }: { username: string; password: string },
): Promise<string> => {
  const layer = makeLayer()
  const config = Buffer.from(
    JSON.stringify({
      architecture: process.arch === 'x64' ? 'amd64' : process.arch,
      os: 'linux',
      config: { Cmd: ['/bin/busybox', 'sleep', '1000'] },
      rootfs: { type: 'layers', diff_ids: [digestOf(layer)] },
    }),
  )
  const described = (type: string, bytes: Buffer) => ({
    mediaType: `application/vnd.oci.image.${type}`,
    digest: digestOf(bytes),
    size: bytes.length,
  })
  const manifestType = 'application/vnd.oci.image.manifest.v1+json'
  const manifest = Buffer.from(
    JSON.stringify({
      schemaVersion: 2,
      mediaType: manifestType,
      config: described('config.v1+json', config),
      layers: [described('layer.v1.tar', layer)],
    }),
  )
  const blobs = new Map([layer, config, manifest].map((bytes) => [digestOf(bytes), bytes]))
  const known = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
  const server = http.createServer(({ method, url = '', headers }, response) => {
    if (headers.authorization !== known) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="kubelevel"' }).end()
      return
    }
    const [, place, name] = /^\/v2\/team\/app\/(manifests|blobs)\/(.*)$/.exec(url) ?? []
    const blob = blobs.get(name === '1' ? digestOf(manifest) : (name ?? ''))
    if (!blob) {
      response.writeHead(404).end()
      return
    }
    response.writeHead(200, {
      'content-type': place === 'manifests' ? manifestType : 'application/octet-stream',
      'content-length': blob.length,
      'docker-content-digest': digestOf(blob),
    })
    response.end(method === 'HEAD' ? undefined : blob)
  })
  const port = await listen(t, server)
  return `127.0.0.1:${port}/team/app:1`
}
