import { everythingOverHttp, filesystem, memory } from '../support/subjects.ts';
import { givesTheSameAnswers } from './same-answers.ts';

givesTheSameAnswers('http', [everythingOverHttp, filesystem, memory]);
