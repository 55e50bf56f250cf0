/** What serves clients before 2026-07-28 in this test file: a server of the SDK's second version, or of its first. */
let sdk: 'v2' | 'v1' = 'v2';

/** To be called before the scenarios are imported that are to run on a server of the SDK's first version. */
export function onSdkV1(): void {
  sdk = 'v1';
}

/** Where what is expected is not ours to say: there its transport answers HTTP, and its server names unknown tools. */
export function isSdkV1(): boolean {
  return sdk === 'v1';
}
