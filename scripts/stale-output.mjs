// Removes what was compiled from sources that are gone: tsc leaves it, and tap would go on running deleted tests.
import { existsSync, readdirSync, rmSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)))
const compiled = /\.(?:js|js\.map|d\.ts)$/

const clean = (folder) => {
  for (const entry of readdirSync(path.join(root, 'dist', folder), { withFileTypes: true })) {
    const file = path.join(folder, entry.name)
    if (entry.isDirectory()) clean(file)
    else if (compiled.test(file) && !existsSync(path.join(root, file.replace(compiled, '.ts'))))
      rmSync(path.join(root, 'dist', file))
  }
}

// What the build makes by itself, dist/bundle among it, has no source of the same name.
for (const { name } of readdirSync(path.join(root, 'dist'), { withFileTypes: true }))
  if (existsSync(path.join(root, name))) clean(name)
