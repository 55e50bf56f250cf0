import { everything, filesystem, memory } from '../support/subjects.ts';
import { givesTheSameAnswers } from './same-answers.ts';

givesTheSameAnswers('stdio', [everything, filesystem, memory]);
