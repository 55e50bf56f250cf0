/** Lets anything through, as it is: it is somebody else's to judge. */
export const ANYTHING = {
  '~standard': { version: 1, vendor: 'longcall', validate: (value: unknown) => ({ value }) },
} as const;
