/** How often a folder is looked at. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import t from 'tap'
import { followFolder } from '#kubelet/follow-folder.js'
import { eventually } from '../eventually.js'

t.test('a folder in which something changes all the time is looked at, too', async (t) => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'kubelevel-follow-'))
  const stop = new AbortController()
  const write = () => writeFileSync(path.join(folder, 'log'), String(performance.now()))
  const busy = setInterval(write, 5)
  let looks = 0
  const look = async () => void looks++
  const following = followFolder(look, { paths: () => [folder], checkMs: 500, signal: stop.signal })
  t.teardown(async () => {
    stop.abort()
    await following
    clearInterval(busy)
    rmSync(folder, { recursive: true })
  })
  await eventually('a second look', () => looks > 1)
})
