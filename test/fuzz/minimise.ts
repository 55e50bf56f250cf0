import type { Case } from './episodes.ts';
import type { Finding } from './findings.ts';

type Run = (one: Case) => Promise<Finding[]>;

/** Ids and numbers differ from run to run of fewer steps. */
export function kindOf({ broken, sentence }: Finding): string {
  const [line = ''] = sentence.replace(/\b(tsk_|lc-)[\w-]+/g, '<id>').split('\n');
  return `${broken}: ${line.replace(/\d+/g, 'N').slice(0, 80)}`;
}

/** Leaves steps out for as long as the same is found without them. */
export async function minimised(one: Case, finding: Finding, run: Run): Promise<Case> {
  const wanted = kindOf(finding);
  const finds = async (steps: Case['steps']): Promise<boolean> =>
    (await run({ ...one, steps })).some((found) => kindOf(found) === wanted);
  let steps = one.steps.slice(0, finding.step + 1);
  if (!(await finds(steps))) steps = one.steps;
  for (let size = Math.ceil(steps.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let at = 0; at < steps.length; ) {
      const fewer = [...steps.slice(0, at), ...steps.slice(at + size)];
      if (await finds(fewer)) steps = fewer;
      else at += size;
    }
  }
  return { ...one, steps };
}
