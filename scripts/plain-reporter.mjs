import { Transform } from 'node:stream'

/** Passes TAP through and closes with the plain line that CI reads: `N passed, N failed, N skipped`. */
export default class Plain extends Transform {
  #tail = ''
  _transform(chunk, _encoding, done) {
    this.#tail = (this.#tail + chunk).slice(-2000)
    done(null, chunk)
  }
  _flush(done) {
    const count = (word) =>
      Number(new RegExp(`# \\{[^}]*\\b${word}: (\\d+)`).exec(this.#tail)?.[1] ?? 0)
    const skipped = count('skip') + count('todo')
    done(
      null,
      count('total')
        ? `\n${count('pass')} passed, ${count('fail')} failed, ${skipped} skipped\n`
        : '',
    )
  }
}
