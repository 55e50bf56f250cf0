export { aTask } from './builders.ts';
export { ManualClock } from './manual-clock.ts';
export { type OpenStore, storeSuite } from './store-suite.ts';
export type { SuiteCase } from './suite.ts';
