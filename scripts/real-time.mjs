// What the bundle takes of the process's time, as it is when the bundle is loaded; esbuild puts these in place of the globals
// of the same names (`inject`). Fake timers (of Jest, Vitest, Sinon and Node's own mock.timers) are put over the globals and
// into Node's modules, and a server in the process of such a test would stand still.
export const {
  clearImmediate,
  clearInterval,
  clearTimeout,
  performance,
  queueMicrotask,
  setImmediate,
  setInterval,
  setTimeout,
} = globalThis
const { Date: RealDate } = globalThis

export { RealDate as Date }
export const { hrtime, nextTick } = process
