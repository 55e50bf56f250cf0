/** How a front starts the daemon of a folder: by the same program, with whatever Node itself was told to do. */
export function daemonCommandLine(main: string, folder: string): { file: string; args: string[] } {
  return { file: process.execPath, args: [...process.execArgv, main, 'daemon', 'run', '--state', folder] };
}
