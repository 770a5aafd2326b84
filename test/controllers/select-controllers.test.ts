import t from 'tap'
import { controllers } from '#controllers/controllers.js'
import { selectControllers } from '#controllers/select-controllers.js'

t.test('--controllers chooses as upstream does', (t) => {
  const names = (...wanted: string[]) => selectControllers(wanted, controllers).map((c) => c.name)
  t.ok(names('*').includes('job-controller'))
  t.notOk(names('*', '-job-controller').includes('job-controller'))
  t.same(names('job-controller'), ['job-controller'])
  t.same(names('job', '-job-controller', '*'), names('*'), 'the first one counts')
  const off = controllers.filter((c) => !names('*').includes(c.name)).map((c) => c.name)
  t.same(off, ['bootstrap-signer-controller', 'token-cleaner-controller'], 'off unless named')
  t.same(names('*', 'tokencleaner').length, names('*').length + 1)
  t.same(names('route', 'service-lb-controller'), [], "upstream's that are not here")
  t.same(names(), [])
  t.throws(() => names('zzz'), { message: '"zzz" is not in the list of known controllers' })
  t.throws(() => names('*', '-zzz', '', 'job'), {
    message:
      '["zzz" is not in the list of known controllers, "" is not in the list of known controllers]',
  })
  for (const { name } of controllers) t.same(names(name), [name].flat(), 'a name of upstream')
  t.end()
})
