import t from 'tap'
import { parseFlags } from '#program/flags.js'

t.test('a short flag takes its value as pflag lets it', (t) => {
  const flags = [{ name: 'v', short: 'v', type: 'integer', help: 'log level' }] as const
  for (const args of [['-v=2'], ['-v2'], ['-v', '2'], ['--v=2']])
    t.equal(parseFlags(args, flags).number('v'), 2, args.join(' '))
  t.throws(() => parseFlags(['-v==2'], flags), { message: /invalid value "=2" for -v/ })
  t.end()
})
