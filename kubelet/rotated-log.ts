/** Where the old part of a container's log is: both runtimes keep one file of it beside the log. */
export const rotatedLog = (file: string): string => `${file}.1`
