import t from 'tap'
import { parseFlags } from '#program/flags.js'

t.test('a short flag takes its value as pflag lets it', (t) => {
  const flags = [{ name: 'v', short: 'v', type: 'integer', help: 'log level' }] as const
  for (const args of [['-v=2'], ['-v2'], ['-v', '2'], ['--v=2']])
    t.equal(parseFlags(args, flags).number('v'), 2, args.join(' '))
  t.throws(() => parseFlags(['-v==2'], flags), { message: /invalid value "=2" for -v/ })
  t.end()
})

t.test('what the command line says replaces what a file says, lists as well', (t) => {
  const flags = [
    { name: 'modes', type: 'strings', default: 'a', help: 'modes' },
    { name: 'port', type: 'integer', help: 'port' },
  ] as const
  const fromFile = ['--modes=b', '--modes=c', '--port=1']
  const modes = (...args: string[]) => parseFlags(args, flags, { fromFile }).list('modes')
  t.same(modes(), ['b', 'c'])
  t.same(modes('--port=2'), ['b', 'c'])
  t.same(modes('--modes=d', '--modes=e'), ['d', 'e'])
  t.equal(parseFlags(['--port=2'], flags, { fromFile }).number('port'), 2)
  t.throws(() => parseFlags(['--port=2'], flags, { fromFile: ['--port=x'] }), /"x" for --port/)
  t.end()
})
