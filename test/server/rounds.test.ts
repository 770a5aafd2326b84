import t from 'tap'
import { Rounds } from '#server/rounds.js'

t.test('a round that takes long makes no others queue behind it', async (t) => {
  const rounds = new Rounds()
  const ends: (() => void)[] = []
  const begin = () => new Promise<void>((resolve) => void ends.push(resolve))
  const roundsBegun = (count: number) =>
    new Promise<void>((resolve) => {
      const ticks = setInterval(() => {
        if (ends.length < count) return
        clearInterval(ticks)
        resolve()
      }, 1)
    })
  const passed = async (times: number): Promise<void> => {
    for (let i = 0; i < times; i++) await new Promise((resolve) => setTimeout(resolve, 1))
  }
  rounds.start(1, begin)
  await roundsBegun(1)
  await passed(20)
  t.equal(ends.length, 1)
  ends[0]!()
  await roundsBegun(2)
  await passed(20)
  let isStopped = false
  const stopped = rounds.stop().then(() => {
    isStopped = true
  })
  await passed(1)
  t.notOk(isStopped, 'it waits for the round that runs')
  ends[1]!()
  await stopped
  await passed(20)
  t.equal(ends.length, 2, 'and no other one follows')
})
