import type { Answer, Question } from '../../core/index.ts';
import { answerProblem } from '../../engine/form-schema.ts';

/**
 * What is wrong with an answer, in words that name the field; `undefined` if nothing is, or the server's schema is none that could be
 * held against it: then the server has to say.
 */
export function misfit(question: Question, answer: Answer): string | undefined {
  try {
    return answerProblem(question, answer);
  } catch {
    return undefined; // A schema that does not compile is the server's fault, not the answer's.
  }
}

/** The answer, if it fits. @throws {TypeError} naming the field that does not */
export function fitting(question: Question, answer: Answer): Answer {
  const problem = misfit(question, answer);
  if (problem === undefined) return answer;
  throw new TypeError(`the answer does not fit its question: ${problem}`);
}
