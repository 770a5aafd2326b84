/** Of which none is left out, however few percent that is. */
const fewestNodes = 100
const fewestPercent = 5

/**
 * How many nodes on which a Pod would fit are enough to choose from. `percentage` is a profile's
 * `percentageOfNodesToScore`; with 0 it gets smaller with the cluster. Upstream: numFeasibleNodesToFind.
 */
export const nodesToFind = (nodes: number, percentage: number): number => {
  if (nodes < fewestNodes) return nodes
  const percent = percentage || Math.max(fewestPercent, 50 - Math.trunc(nodes / 125))
  return Math.max(fewestNodes, Math.trunc((nodes * percent) / 100))
}
