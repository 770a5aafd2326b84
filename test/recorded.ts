/** What a real kube-apiserver was asked and answered, recorded beside the test that plays it: `kinds/changes`. */
import { readFileSync } from 'node:fs'
import { packageRoot } from '#program/package-root.js'

export const readRecorded = <T>(name: string): T =>
  JSON.parse(readFileSync(new URL(`test/${name}-recorded.json`, packageRoot), 'utf8'))
