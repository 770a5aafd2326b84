/** Every container has ended and none will start again (kubernetes, podutils.IsPodPhaseTerminal). */
export const isTerminalPhase = (phase: string | undefined): boolean =>
  phase === 'Succeeded' || phase === 'Failed'
