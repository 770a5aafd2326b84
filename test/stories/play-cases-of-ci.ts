/** The stories as tests, over one cluster. */
import type { Test } from 'tap'
import { casesOfCi, nameOf, playCase, startStoryCluster } from './kill-points.js'

/** A loaded machine may need far longer for all of them than other test files may take. */
export const storiesTimeoutMs = 1_800_000

/** Pods are processes, or the containers of the runtime at `endpoint`. */
export const playCasesOfCi = async (t: Test, endpoint?: string): Promise<void> => {
  const cluster = await startStoryCluster(endpoint)
  for (const [i, one] of casesOfCi().entries()) {
    const wrong = await playCase(cluster, one, { namespace: `story-${i}`, awayMs: 300 })
    t.same(wrong, [], nameOf(one))
  }
  const { output } = cluster
  t.same(await cluster.close(), [], 'no process of a Pod is left')
  if (!t.passing()) t.comment(output)
}
