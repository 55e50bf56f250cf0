/** One promise of an interface, as a test any runner can run. */
export interface SuiteCase<Subject> {
  name: string;
  /** Opens what it needs with `open`, checks with `node:assert`, and cleans up after itself. */
  run(open: Subject): Promise<void>;
}
