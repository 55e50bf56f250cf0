export { type AdapterSuite, adapterSuite } from './adapter-suite.ts';
export type { AdapterHarness, AdapterProcess, AdapterSystem, AskedForm, Burst } from './adapters/system.ts';
export { aTask } from './builders.ts';
export { dispatcherSuite, type OpenTwice, sharedStoreSuite } from './dispatcher-suite.ts';
export { ManualClock } from './manual-clock.ts';
export type { OpenStore } from './on-store.ts';
export { type RunToolOptions, runTool, type ToolRun } from './run-tool.ts';
export { storeSuite } from './store-suite.ts';
export type { SuiteCase } from './suite.ts';
